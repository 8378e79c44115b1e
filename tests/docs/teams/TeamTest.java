import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

class TeamTest {
    @RegisterExtension final Stub stub = new Stub();

    static String tokenElsewhere(Stub stub) throws Exception {
        FutureTask<String> task = new FutureTask<>(stub::token);
        new Thread(task).start();
        return task.get();
    }

    static int create(Stub stub, String body) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(stub.url + "/v1/projects"))
            .header("Authorization", "Bearer " + stub.token())
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString(body))
            .build();
        return HttpClient.newHttpClient().send(request, BodyHandlers.discarding()).statusCode();
    }

    @Test
    void operations() throws Exception {
        stub.reset("{\"projects\": []}");
        String stages = "[{\"status\": \"queued\", \"seconds\": 60}, {\"status\": \"failed\"}]";
        for (String id : List.of("a?b", "team/42", "50%", "a b", "a#b", "a%2Fb", "a+b")) {
            Stub.Deployment made = stub.putDeployment(id, "{\"timeline\": " + stages + "}");
            assertEquals(List.of(id, "queued"), List.of(made.id(), made.status()));
        }
        assertTrue(stub.freeze().frozen());
        assertTrue(stub.advance(60).frozen());
        assertEquals(1.5, stub.tick(1.5).tick());
        assertEquals(stub.token(), tokenElsewhere(stub));
        assertEquals(1, stub.fault("{\"status\": 503}").remaining());
        assertEquals(503, create(stub, "{\"name\": \"é\\n\\\"\"}"));
        Stub.Entry entry = stub.requests().get(0);
        assertEquals(503, entry.status());
        assertEquals("{\"name\": \"é\\n\\\"\"}", entry.body());
        assertEquals("flt_1", entry.fault());
        assertEquals("application/json", entry.headers().get("Content-Type"));
        assertTrue(entry.response().body().contains("\"status\": 503"));
        assertEquals(Map.of("name", "é\n\""), entry.json());
        assertEquals(503.0, ((Map<?, ?>) entry.response().json()).get("status"));
        assertEquals(1, stub.requests(Map.of("operation", "createProject", "path", "/v1/p*")).size());
        assertEquals(0, stub.count(Map.of("status", 404)));
        assertEquals("2026-01-01T00:00:00.000Z", stub.freeze("2026-01-01T00:00:00Z").now());
        assertEquals(1, stub.coverage().met());
        assertEquals(1, stub.coverage().operations().get("createProject").get("503"));
    }

    @Test
    void killed() throws Exception {
        String file = System.getenv("HELD");
        if (file == null) return;
        Files.writeString(Path.of(file), stub.url);
        new ProcessBuilder("kill", "-KILL", "" + ProcessHandle.current().pid()).start().waitFor();
    }

    @Test
    void rejected() throws Exception {
        if (System.getenv("FAILING") != null) assertEquals(201, create(stub, "{\"name\": \"\"}"));
    }

    @Test
    void invalid() throws Exception {
        if (System.getenv("FAILING") != null) stub.fault("{\"status\": 9}");
    }
}

@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Execution(ExecutionMode.CONCURRENT)
class TogetherTest {
    @RegisterExtension final Stub stub = new Stub();
    final CyclicBarrier both = new CyclicBarrier(2);

    private void createAlone() throws Exception {
        both.await(30, TimeUnit.SECONDS);
        assertThrows(ExecutionException.class, () -> TeamTest.tokenElsewhere(stub));
        assertEquals(201, TeamTest.create(stub, "{\"name\": \"shop\"}"));
        both.await(30, TimeUnit.SECONDS);
        assertEquals(1, stub.requests().size());
    }

    @Test
    void one() throws Exception { createAlone(); }

    @Test
    void two() throws Exception { createAlone(); }
}
