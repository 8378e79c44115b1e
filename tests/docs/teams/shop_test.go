package client

import (
	"net/http"
	"os"
	"strings"
	"testing"

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
		if made["id"] != id || made["status"] != "queued" {
			t.Fatal(made)
		}
	}
	if s.Freeze()["frozen"] != true || s.Advance(60)["frozen"] != true {
		t.Fatal("the clock is not frozen")
	}
	s.Fault(stub.JSON{"status": 503})
	if status := call(t, s, "GET", "/v1/projects", ""); status != 503 || len(s.Requests()) != 1 {
		t.Fatal(status)
	}
	if s.Coverage()["met"] != 1.0 || s.PutDeployment("b", stub.JSON{"status": "failed"})["id"] != "b" {
		t.Fatal(s.Coverage())
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
		stub.New(t).Fault(stub.JSON{"status": 9})
	}
}
