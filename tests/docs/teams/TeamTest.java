import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.List;
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
            String made = stub.putDeployment(id, "{\"timeline\": " + stages + "}");
            assertTrue(made.contains("\"id\": \"" + id + "\""), made);
            assertTrue(made.contains("\"status\": \"queued\""));
        }
        assertTrue(stub.freeze().contains("\"frozen\": true"));
        assertTrue(stub.advance(60).contains("\"frozen\": true"));
        assertEquals(stub.token(), tokenElsewhere(stub));
        stub.fault("{\"status\": 503}");
        assertEquals(503, create(stub, "{\"name\": \"shop\"}"));
        assertTrue(stub.requests().contains("\"status\": 503"));
        assertTrue(stub.coverage().contains("\"met\": 1"));
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
        assertEquals(2, stub.requests().split("\"number\"").length);
    }

    @Test
    void one() throws Exception { createAlone(); }

    @Test
    void two() throws Exception { createAlone(); }
}
