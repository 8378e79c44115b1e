import assert from "node:assert/strict";
import test from "node:test";
import { withStub } from "./stub_fixture.mjs";

const call = async (stub, path, method = "GET", body = undefined) => {
  const headers = { ...stub.headers, "Content-Type": "application/json" };
  const response = await fetch(stub.url + path, { method, headers, body });
  return [response.status, await response.json()];
};

test("operations", withStub(async (stub) => {
  await stub.reset({ projects: [] });
  assert.deepEqual(await call(stub, "/v1/projects"), [200, { projects: [] }]);
  await stub.reset();
  const timeline = [{ status: "queued", seconds: 60 }, { status: "failed" }];
  assert.equal((await stub.putDeployment("a/b é", { timeline })).status, "queued");
  assert.equal((await stub.freeze()).frozen, true);
  assert.equal((await stub.advance(60)).frozen, true);
  assert.equal((await call(stub, "/v1/deployments/a%2Fb%20%C3%A9"))[1].status, "failed");
  assert.equal((await stub.fault({ status: 503 })).remaining, 1);
  assert.equal((await call(stub, "/v1/projects"))[0], 503);
  assert.deepEqual((await stub.requests()).map((each) => each.status), [200, 503]);
  stub.headers.Authorization = "Bearer of-the-client";
  assert.equal((await stub.coverage()).met, 2);
}));

for (const name of ["a name", "a name", "é/" + "long".repeat(99)]) {
  test(name, withStub(async (stub) => {
    assert.equal((await call(stub, "/v1/projects", "POST", '{"name": "one"}'))[0], 201);
  }));
}

if (process.env.FAILING) {
  test("rejected", withStub(async (stub) => {
    await call(stub, "/v1/projects?page=1", "POST", '{"name": ""}');
    throw new Error("on purpose");
  }));
  test("invalid", withStub((stub) => stub.fault({ status: 9 })));
}
