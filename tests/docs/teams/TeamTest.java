import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class TeamTest {
    @RegisterExtension final Stub stub = new Stub();

    private int create(String body) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(stub.url + "/v1/projects"))
            .header("Authorization", "Bearer " + stub.token)
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString(body))
            .build();
        return HttpClient.newHttpClient().send(request, BodyHandlers.discarding()).statusCode();
    }

    @Test
    void operations() throws Exception {
        stub.reset("{\"projects\": []}");
        String stages = "[{\"status\": \"queued\", \"seconds\": 60}, {\"status\": \"failed\"}]";
        String made = stub.putDeployment("a%2Fb", "{\"timeline\": " + stages + "}");
        assertTrue(made.contains("\"status\": \"queued\""));
        assertTrue(stub.freeze().contains("\"frozen\": true"));
        assertTrue(stub.advance(60).contains("\"frozen\": true"));
        stub.fault("{\"status\": 503}");
        assertEquals(503, create("{\"name\": \"shop\"}"));
        assertTrue(stub.requests().contains("\"status\": 503"));
        assertTrue(stub.coverage().contains("\"met\": 1"));
    }

    @Test
    void rejected() throws Exception {
        if (System.getenv("FAILING") != null) assertEquals(201, create("{\"name\": \"\"}"));
    }

    @Test
    void invalid() throws Exception {
        if (System.getenv("FAILING") != null) stub.fault("{\"status\": 9}");
    }
}
