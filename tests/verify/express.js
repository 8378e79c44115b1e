// The operations in Express, written without tuning: node express.js PORT FILE
// FILE holds the body of the response to a GET as JSON: a deployment, or a list of projects.
const { randomBytes } = require("node:crypto");
const { readFileSync } = require("node:fs");
const express = require("./.peers/node_modules/express");

const [port, file] = process.argv.slice(2);
const stored = JSON.parse(readFileSync(file, "utf8"));
const projects = stored.projects ?? [];
const deployments = new Map([[stored.id, stored]]);
const newId = (prefix) => `${prefix}_${randomBytes(8).toString("hex")}`;

const app = express();
app.use((request, response, next) => {
  if (request.get("Authorization") === "Bearer dev-token") next();
  else response.status(401).json({ code: "token_invalid" });
});
app.get("/v1/projects", (request, response) => response.json({ projects }));
app.post("/v1/projects", express.json(), (request, response) => {
  const project = {
    id: newId("prj"),
    created_at: new Date().toISOString(),
    latest_deployment_id: newId("dpl"),
    ...request.body,
  };
  projects.push(project);
  const { latest_deployment_id: id, id: project_id, created_at } = project;
  deployments.set(id, { id, project_id, status: "queued", created_at });
  response.status(201).json(project);
});
app.get("/v1/deployments/:id", (request, response) => {
  const found = deployments.get(request.params.id);
  if (found) response.json(found);
  else response.status(404).json({ code: "deployment_not_found" });
});
app.listen(Number(port), "127.0.0.1");
