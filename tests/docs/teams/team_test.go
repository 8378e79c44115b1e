package client

import (
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"client/stub"
)

func call(t *testing.T, s *stub.Stub, method, path, body string) int {
	request, _ := http.NewRequest(method, s.URL+path, strings.NewReader(body))
	request.Header.Set("Authorization", "Bearer "+s.Token)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
}

func TestOperations(t *testing.T) {
	s := stub.New(t)
	s.Reset(stub.JSON{"projects": []any{}})
	timeline := []stub.JSON{{"status": "queued", "seconds": 60}, {"status": "failed"}}
	for _, id := range []string{"a?b", "team/42", "50%", "a b", "a#b", "a%2Fb", "a+b"} {
		made := s.PutDeployment(id, stub.JSON{"timeline": timeline})
		if made.ID != id || made.Status != "queued" || made.CreatedAt.IsZero() {
			t.Fatal(made)
		}
	}
	if frozen := s.Freeze(); !frozen.Frozen || s.Advance(60).Now.Sub(frozen.Now) != time.Minute {
		t.Fatal("the clock is not frozen")
	}
	if clock := s.Tick(1.5); clock.Tick != 1.5 {
		t.Fatal(clock)
	}
	if fault := s.Fault(stub.Fault{Delay: stub.Ptr(0.0), Times: 2}); fault.ID == "" || fault.Remaining != 2 {
		t.Fatal(fault)
	}
	html := stub.Fault{Operation: "createProject", Status: 503, Times: stub.Endless, Body: stub.Ptr("<p>"), ContentType: "text/html"}
	if fault := s.Fault(html); fault.Times != stub.Endless || fault.Remaining != stub.Endless || *fault.Body != "<p>" {
		t.Fatal(fault)
	}
	call(t, s, "GET", "/v1/projects", "")
	call(t, s, "GET", "/v1/projects", "")
	s.Fault(stub.Fault{Method: "GET", Path: "/v1/*", Status: 429, Headers: http.Header{"Retry-After": {"0"}, "Set-Cookie": {"a=1", "b=2"}}})
	if status := call(t, s, "GET", "/v1/projects", ""); status != 429 {
		t.Fatal(status)
	}
	call(t, s, "POST", "/v1/projects?page=1", `{"name": "shop"}`)
	r := s.Requests()[3]
	if r.Method != "POST" || r.Path != "/v1/projects" || r.Query != "page=1" || r.Status != 503 || r.Operation != "createProject" {
		t.Fatal(r)
	}
	if r.Body != `{"name": "shop"}` || r.Headers["Authorization"] != "Bearer ***" || len(r.Unpromised) != 1 || r.Time.IsZero() {
		t.Fatal(r)
	}
	if r.Response.Status != 503 || r.Response.Headers["Content-Type"] == "" || r.Response.Body != "<p>" {
		t.Fatal(r.Response)
	}
	posted := s.Requests(stub.Filters{"operation": "createProject", "path": "/v1/*"})
	if len(posted) != 1 || posted[0].JSON.(map[string]any)["name"] != "shop" || posted[0].Response.JSON != nil {
		t.Fatal(posted)
	}
	if count := s.Count(stub.Filters{"status": 429}); count != 1 {
		t.Fatal(count)
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if clock := s.Freeze(at); !clock.Now.Equal(at) {
		t.Fatal(clock)
	}
	found := s.Coverage()
	if found.Met != 2 || found.Operations["createProject"]["503"] != 1 || found.Unpromised[0].Count != 1 {
		t.Fatal(found)
	}
}

func TestNames(t *testing.T) {
	for _, name := range []string{"é a/b", "é=a/b", strings.Repeat("long", 99)} {
		t.Run(name, func(t *testing.T) {
			if status := call(t, stub.New(t), "POST", "/v1/projects", `{"name": "one"}`); status != 201 {
				t.Fatal(status)
			}
		})
	}
}

func TestRejected(t *testing.T) {
	if os.Getenv("FAILING") != "" {
		call(t, stub.New(t), "POST", "/v1/projects?page=1", `{"name": ""}`)
		t.Error("on purpose")
	}
}

func TestInvalid(t *testing.T) {
	if os.Getenv("FAILING") != "" {
		stub.New(t).Fault(stub.Fault{Status: 9})
	}
}

func TestKilled(t *testing.T) {
	if path := os.Getenv("HELD"); path != "" {
		os.WriteFile(path, []byte(stub.New(t).URL), 0o600)
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
}
