// A deployment in the inspector: its timeline, and when the client asked for it.

import { html } from "./preact.js";
import { Inspector } from "./inspector.js";
import { Copy, dateAndTime, Pairs, plural, visible } from "./parts.js";
import { SYMBOLS } from "./projects.js";
import { linkTo } from "./session.js";
import { state } from "./state.js";

const END = 0.15; // the part of the picture that the last stage has, which does not end

export function Deployment({ id }) {
  const { newest } = state.view.projects;
  const project = newest.find(({ deployment }) => deployment === id);
  const path = `/v1/deployments/${encodeURIComponent(id)}`;
  const isOf = (target) => [path, `/v1/deployments/${id}`].some((each) => target === each || target.startsWith(`${each}?`));
  const polls = state.entries.filter(({ method, target }) => method === "GET" && isOf(target));
  const known = state.entries.length;
  const isAll = known === state.last - state.first + 1;
  const actions = html`<${Copy} text=${id}>Copy id<//> <${Copy} text=${linkTo()}>Copy link<//>`;
  const facts = project && { Project: project.name, "Project id": project.id, Created: `${dateAndTime(project.created_at)} UTC`, Status: project.status };
  return html`<${Inspector} title=${id} actions=${actions} opener="#projects [data-open=true]">
    ${project ? html`<${Pairs} of=${Object.entries(facts)} /><${Timeline} project=${project} polls=${polls} />`
      : html`<p>This is no longer the deployment of one of the newest projects.</p>`}
    <p class="hint">Your client asked for it ${plural(polls.length, "time")}${isAll ? "" : ` in the newest ${plural(known, "request")}`}.</p>
  <//>`;
}

function Timeline({ project, polls }) {
  const { timeline, since } = project;
  const now = Date.parse(state.view.clock.now);
  const age = (now - Date.parse(since)) / 1000;
  let start = 0;
  const stages = timeline.map(({ status, seconds }) => {
    const stage = { status, start, end: start + (seconds ?? Infinity) };
    start = stage.end;
    return stage;
  });
  const total = (stages.at(-2)?.end || 1) / (1 - END);
  const at = (seconds) => Math.min(100, Math.max(0, (100 * seconds) / total));
  const asked = polls.map(({ time }) => age - (now - Date.parse(time)) / 1000).filter((second) => second >= 0);
  return html`<h3>Timeline</h3>
    <svg class="timeline" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      ${stages.map(({ status, start, end }) => html`<rect data-status=${status} x=${at(start)} width=${at(end) - at(start)} y="3" height="4" />`)}
      ${asked.map((second) => html`<line x1=${at(second)} x2=${at(second)} y1="0" y2="3" />`)}
      <line class="now" x1=${at(age)} x2=${at(age)} y1="3" y2="10" />
    </svg>
    <ol class="stages">${stages.map(({ status, start, end }) => html`<li aria-current=${age >= start && age < end ? "step" : null}>
      <b>${SYMBOLS[status] ?? "●"} ${visible(status)}</b> <span class="hint">${left(age, start, end)}</span>
    </li>`)}</ol>`;
}

function left(age, start, end) {
  if (age >= end) return "over";
  if (age < start) return `in ${Math.ceil(start - age)} s`;
  return end === Infinity ? "now" : `now, ${Math.ceil(end - age)} s left`;
}
