import test, { afterEach, beforeEach } from "node:test";
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { useStub } from "./stub_fixture.mjs";

const stub = useStub({ beforeEach, afterEach });
const call = async (path, method = "GET", body = undefined) => {
  const headers = { ...stub.headers, "Content-Type": "application/json" };
  const response = await fetch(stub.url + path, { method, headers, body });
  return [response.status, await response.json()];
};

test("operations", async () => {
  await stub.reset({ projects: [] });
  assert.equal(JSON.stringify(await call("/v1/projects")), '[200,{"projects":[]}]');
  await stub.reset();
  const timeline = [{ status: "queued", seconds: 60 }, { status: "failed" }];
  assert.equal((await stub.putDeployment("a/b é", { timeline })).status, "queued");
  assert.equal((await stub.freeze()).frozen, true);
  assert.equal((await stub.advance(60)).frozen, true);
  assert.equal((await stub.tick(1.5)).tick, 1.5);
  assert.equal((await call("/v1/deployments/a%2Fb%20%C3%A9"))[1].status, "failed");
  assert.equal((await stub.fault({ status: 503 })).remaining, 1);
  assert.equal((await call("/v1/projects"))[0], 503);
  assert.deepEqual((await stub.requests()).map((each) => each.status), [200, 503]);
  assert.deepEqual((await stub.requests({ status: 503, path: "/v1/*" })).map((each) => each.response.json.status), [503]);
  assert.equal(await stub.count({ method: "POST" }), 0);
  assert.equal((await stub.freeze("2026-01-01T00:00:00Z")).now, "2026-01-01T00:00:00.000Z");
  assert.equal((await stub.coverage()).met, 2);
});

for (const name of ["a name", "a name", "é/" + "long".repeat(99)]) {
  test(name, async () => {
    assert.equal((await call("/v1/projects", "POST", '{"name": "one"}'))[0], 201);
  });
}

if (process.env.FAILING) {
  test("rejected", async () => {
    await call("/v1/projects?page=1", "POST", '{"name": ""}');
    throw new Error("on purpose");
  });
  test("invalid", () => stub.fault({ status: 9 }));
}

if (process.env.HELD) {
  test("killed", async () => {
    await writeFile(process.env.HELD, stub.url);
    process.kill(process.pid, "SIGKILL");
  });
}
