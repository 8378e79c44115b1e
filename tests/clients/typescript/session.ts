// List, create, poll, and take a 409 and a 404 with openapi-fetch and the types of openapi-typescript.
import createClient from "openapi-fetch";
import type { paths } from "./schema.js";

const headers = { Authorization: "Bearer dev-token" };
const service = createClient<paths>({ baseUrl: process.argv[2], headers });
const listed = await service.GET("/v1/projects");
console.log(listed.data?.projects.length, "projects");
const created = await service.POST("/v1/projects", { body: { name: "shop" } });
if (!created.data) throw new Error(created.error.detail);
const path = { id: created.data.latest_deployment_id };
let status = "queued";
while (!["succeeded", "failed", "canceled"].includes(status)) {
  await new Promise((resolve) => setTimeout(resolve, 50));
  const { data, error } = await service.GET("/v1/deployments/{id}", { params: { path } });
  if (!data) throw new Error(error.detail);
  if (data.project_id !== created.data.id) throw new Error("another project");
  status = data.status;
}
console.log(status);
const taken = await service.POST("/v1/projects", { body: { name: "shop" } });
console.log(taken.error?.status, taken.error?.code);
const unknown = await service.GET("/v1/deployments/{id}", { params: { path: { id: "a/b" } } });
console.log(unknown.error?.status, unknown.error?.code);
