import * as jest from "@jest/globals";
import * as node from "node:test";
import { test as playwright } from "@playwright/test";
import * as vitest from "vitest";
import globalSetup, { type Stub, useStub, withOptions } from "./stub_fixture.mjs";

const stub: Stub = useStub(node);
useStub(jest);
useStub(playwright);
useStub(vitest);

(await globalSetup()) satisfies () => Promise<void>;
(await withOptions({ like: "profile.json", pace: 0, tick: 1.5, outcome: ["failed"] })()) satisfies () => Promise<void>;
// @ts-expect-error
withOptions({ lik: "profile.json" });

node.test("operations", async () => {
  await stub.reset();
  await stub.reset({ projects: [] });
  const timeline = [{ status: "queued", seconds: 60 }, { status: "failed" }];
  (await stub.putDeployment("a", { timeline })).status satisfies string;
  (await stub.freeze()).frozen satisfies boolean;
  (await stub.advance(60)).now satisfies string;
  (await stub.tick(1.5)).tick satisfies number;
  (await stub.fault({ status: 503, delay: 1 })).remaining satisfies number | null;
  // @ts-expect-error
  await stub.fault({ stauts: 503 });
  (await stub.count({ operation: "createProject", status: "4xx" })) satisfies number;
  // @ts-expect-error
  await stub.requests({ state: 409 });
  (await stub.freeze("2026-01-01T00:00:00Z")).now satisfies string;
  (await stub.requests()).map((each) => each.response.body) satisfies string[];
  (await stub.requests())[0].status satisfies number;
  (await stub.coverage()).operations["getDeployment"]["200"] satisfies number;
  await fetch(stub.url, { headers: stub.headers }) satisfies Response;
  // @ts-expect-error
  await stub.advance("60");
});
