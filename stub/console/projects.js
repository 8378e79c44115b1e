// The projects, and the form that creates one.

import { html, useRef, useState } from "./preact.js";
import { commandOf } from "./command.js";
import { List, useHeld } from "./list.js";
import { dateAndTime, Empty, invalid, Problem, useAttempt, visible } from "./parts.js";
import { showOnly } from "./search.js";
import { announce, set, state } from "./state.js";

export const SYMBOLS = { queued: "○", building: "◐", succeeded: "✓", failed: "✕", canceled: "⊘" };

export function Projects() {
  const { count, newest } = state.view.projects;
  const held = useHeld();
  const [isRead] = held;
  const [error, attempted, forget] = useAttempt();
  const [, redraw] = useState({});
  const stop = useState("");
  const shown = useRef({ projects: [], count: 0, instance: "" });
  const release = () => (shown.current = { projects: newest, count, instance: state.view.instance });
  if (!isRead || state.view.instance !== shown.current.instance) release();
  const current = new Map(newest.map((project) => [project.id, project]));
  const projects = shown.current.projects.map((project) => current.get(project.id) ?? project);
  const unseen = Math.max(0, count - shown.current.count);

  const put = async (project, status) => {
    const path = `/_stub/deployments/${encodeURIComponent(project.deployment)}`;
    if (await attempted("PUT", path, { status })) announce(`${visible(project.name)} is ${status}`);
  };

  return html`<section id="projects" aria-labelledby="projects-title">
    <div class="bar">
      <h2 id="projects-title">Projects</h2>
      <span class="count">${count.toLocaleString("en")}</span>
      <${Create} error=${error} attempted=${attempted} forget=${forget} onCreated=${() => stop[1]("")} />
    </div>
    <${Problem} error=${error} id="create-error" />
    <${List} noun="project" columns=${["Name", "Id", "Created (UTC)", "Latest deployment", "Status"]} held=${held} stop=${stop} unseen=${unseen}
      onNew=${() => redraw(release())} items=${projects} keyOf=${(project) => project.id}
      row=${(project, tabindex) => html`<${Row} key=${project.id} project=${project} put=${put} tabindex=${tabindex} />`}>
      ${!count && html`<${Empty} text="No projects yet. Create one above, or let your client do it:" command=${commandOf(
        "/v1/projects", '-H "Content-Type: application/json"', `-d '{"name": "shop"}'`,
      )} />`}
    <//>
  </section>`;
}

function Create({ error, attempted, forget, onCreated }) {
  const [name, setName] = useState("");
  const onInput = (event) => {
    setName(event.target.value);
    forget();
  };
  const onSubmit = async (event) => {
    event.preventDefault();
    if (!(await attempted("POST", "/v1/projects", { name }))) return;
    setName((typed) => (typed === name ? "" : typed));
    onCreated(); // Tab leads to the newest project
    announce(`Project ${visible(name)} created`);
  };
  return html`<form id="create" novalidate autocomplete="off" onSubmit=${onSubmit}>
    <label for="name">Name</label>
    <input id="name" type="text" spellcheck=${false} value=${name} onInput=${onInput}
      ...${invalid(error, "name", "create-error")} />
    <button class="primary">Create project</button>
  </form>`;
}

function Row({ project, put, tabindex }) {
  const { id, name, created_at, deployment, status } = project;
  const isOpen = state.selected?.deployment === deployment;
  const openDeployment = () => set({ selected: { deployment } });
  return html`<tr role="row" data-id=${id} aria-current=${isOpen ? "true" : null}>
    <td role="cell" class="name" title=${visible(name)}>
      <button type="button" tabindex=${tabindex} onClick=${() => showOnly(name, { words: id })} aria-label="Requests of ${visible(name)}">${visible(name)}</button>
    </td>
    <td role="cell" class="mono id" title=${visible(id)}>${visible(id)}</td>
    <td role="cell" class="created">${dateAndTime(created_at)}</td>
    <td role="cell" class="mono deployment" title=${visible(deployment)}>
      <button type="button" tabindex=${tabindex} data-deployment=${deployment} onClick=${openDeployment} aria-label="Timeline of ${visible(deployment)}">${visible(deployment)}</button>
    </td>
    <td role="cell" class="state"><${Status} of=${visible(name)} status=${status ?? "none"} tabindex=${tabindex} onChange=${(chosen) => put(project, chosen)} /></td>
  </tr>`;
}

/** The status of a deployment, and the way to change it. */
function Status({ of, status, tabindex, onChange }) {
  const [wanted, setWanted] = useState(null); // while the request is on its way
  const shown = wanted ?? status;
  const known = Object.keys(SYMBOLS);
  const choose = async (event) => {
    setWanted(event.target.value);
    await onChange(event.target.value);
    setWanted(null);
  };
  // Without this, each key on the closed list chooses another status, and so sends it.
  const onKeyDown = (event) => {
    if (event.target !== event.currentTarget) return event.stopPropagation(); // the open list has keys of its own
    if (event.ctrlKey || event.metaKey || !/^(Arrow|Page|Home|End|Enter|[^ ]$)/.test(event.key)) return;
    event.preventDefault();
    event.target.showPicker();
  };
  return html`<select class="pill" data-status=${shown} aria-label="Status of ${of}" title=${shown} value=${shown}
    tabindex=${tabindex} onKeyDown=${onKeyDown} onChange=${choose}>
    ${(known.includes(shown) ? known : [shown, ...known]).map((each) => html`<option value=${each}>${SYMBOLS[each] ?? "●"} ${each}</option>`)}
  </select>`;
}
