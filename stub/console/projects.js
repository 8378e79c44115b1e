// The projects, and the form that creates a project.

import { html, useState } from "./preact.js";
import { fillCreation } from "./creation.js";
import { List } from "./list.js";
import { dateAndTime, Empty, invalid, Problem, useAttempt, useWanted, visible } from "./parts.js";
import { showOnly } from "./search.js";
import { set, state } from "./state.js";

const SYMBOLS = { queued: "○", building: "◐", succeeded: "✓", failed: "✕", canceled: "⊘" };

/** Find the sign of a status, and its kind, which has a color. In a profile a status runs, has ended, or is unknown. */
export function findLook(status) {
  const { like } = state.view;
  if (!like?.ended) return { sign: SYMBOLS[status] ?? "●", kind: status };
  if (like.running.includes(status)) return { sign: "◐", kind: "building" };
  return status === like.ended ? { sign: "✓", kind: "succeeded" } : { sign: "◇", kind: "other" };
}

const COLUMNS = ["Name", "Id", "Created (UTC)", "Latest deployment", "Status"];

export function Projects() {
  const { projects: { count, newest }, instance } = state.view;
  const [error, attempted, forget] = useAttempt();
  const put = ({ deployment, name }, status) =>
    attempted(`${visible(name)} is ${status}`, "PUT", `/_stub/deployments/${encodeURIComponent(deployment)}`, { status });
  return html`<section id="projects" aria-labelledby="projects-title">
    <div class="bar">
      <h2 id="projects-title">Projects</h2>
      <span class="count">${count.toLocaleString("en")}</span>
      <${Create} instance=${instance} error=${error} attempted=${attempted} forget=${forget} />
    </div>
    <${Problem} error=${error} id="create-error" />
    <${List} noun="project" key=${instance} columns=${COLUMNS} last=${count} items=${newest.map((project, at) => ({ ...project, number: count - at }))}
      row=${(project, tabindex) => html`<${Row} key=${project.id} project=${project} put=${put} tabindex=${tabindex} />`}>
      ${!count && html`<${Empty} text="There are no projects yet. Create one above, or send this request:" of=${[
        "/v1/projects", `-H "Content-Type: ${state.view.request_type}"`, `-d '${JSON.stringify(fillCreation("shop")).replaceAll("'", "'\\''")}'`,
      ]} />`}
    <//>
  </section>`;
}

function Create({ instance, error, attempted, forget }) {
  const [typed, type] = useState({ name: "" }); // A rejected name has the instance of the world that rejected it.
  const name = typed.rejectedBy && typed.rejectedBy !== instance ? "" : typed.name;
  const onInput = (event) => {
    type({ name: event.target.value });
    forget();
  };
  const onSubmit = async (event) => {
    event.preventDefault();
    const headers = { "Content-Type": state.view.request_type };
    const isCreated = await attempted(`Project ${visible(name)} created`, "POST", "/v1/projects", fillCreation(name), { headers });
    const rest = isCreated ? { name: "" } : { name, rejectedBy: instance };
    type((now) => (now.name === name ? rest : now));
  };
  return html`<form id="create" novalidate autocomplete="off" onSubmit=${onSubmit}>
    <label for="name">Name</label>
    <input id="name" type="text" spellcheck=${false} value=${name} onInput=${onInput} list="names"
      ...${invalid(error, "name", "create-error")} />
    <datalist id="names">${suggestNames(name).map(({ name, status }) => html`<option value=${name} label="ends as ${status}" />`)}</datalist>
    <button class="primary">Create project</button>
  </form>`;
}

/** Suggest names that begin like the typed name, with the outcome of their deployments by --outcome. */
const suggestNames = (typed) => state.view.outcomes.filter(({ names }) => !/[?[]/.test(names))
  .map(({ names, status }) => ({ name: names.replaceAll("*", typed || "shop"), status }));

function Row({ project, put, tabindex }) {
  const { number, id, name, created_at, deployment, status } = project;
  return html`<tr role="row" data-number=${number} aria-current=${state.selected?.deployment === deployment ? "true" : null}>
    <td role="cell" class="name" title=${visible(name)}>
      <button type="button" tabindex=${tabindex} onClick=${() => showOnly(name, { words: id })} aria-label="Requests of ${visible(name)}">${visible(name)}</button>
    </td>
    <td role="cell" class="mono id" title=${visible(id)}>${visible(id)}</td>
    <td role="cell" class="created">${dateAndTime(created_at)}</td>
    <td role="cell" class="mono deployment" title=${visible(deployment)}>
      <button type="button" tabindex=${tabindex} data-deployment=${deployment} onClick=${() => set({ selected: { deployment } })}
        aria-label="Timeline of ${visible(deployment)}">${visible(deployment)}</button>
    </td>
    <td role="cell" class="state"><${Status} of=${visible(name)} status=${status ?? "none"} tabindex=${tabindex} onChange=${(chosen) => put(project, chosen)} /></td>
  </tr>`;
}

/** The status of a deployment, as a list to choose another status from. */
function Status({ of, status, tabindex, onChange }) {
  const [shown, choose] = useWanted(status, onChange);
  const own = state.view.like?.ended ? [] : Object.keys(SYMBOLS);
  const known = new Set([...state.view.statuses, ...own, shown]);
  // Otherwise every key on the closed list would choose another status, and send it.
  const onKeyDown = (event) => {
    if (event.target !== event.currentTarget) return event.stopPropagation(); // The open list has its own keys.
    if (event.ctrlKey || event.metaKey || !/^(Arrow|Page|Home|End|Enter|[^ ]$)/.test(event.key)) return;
    event.preventDefault();
    event.target.showPicker();
  };
  return html`<select class="pill" data-status=${findLook(shown).kind} aria-label="Status of ${of}" title=${shown} value=${shown}
    tabindex=${tabindex} onKeyDown=${onKeyDown} onChange=${(event) => choose(event.target.value)}>
    ${[...known].map((each) => html`<option value=${each}>${findLook(each).sign} ${each}</option>`)}
  </select>`;
}
