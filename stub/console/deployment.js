// A deployment in the inspector: its timeline, and the reads of the client.

import { html } from "./preact.js";
import { Inspector } from "./inspector.js";
import { clockTime, Copy, dateAndTime, Pairs, plural, useAttempt, visible } from "./parts.js";
import { findLook } from "./projects.js";
import { buildLink } from "./session.js";
import { state } from "./state.js";

const END = 0.15; // width of the last stage, which has no end

export function Deployment({ id }) {
  const path = `/v1/deployments/${id.replaceAll("%", "%25").replaceAll("/", "%2F")}`; // as in the journal
  const polls = state.loaded.rows.filter(({ number, operation, path: sent }) =>
    number >= state.view.requests.first && operation === "getDeployment" && sent.replaceAll("%2f", "%2F") === path);
  const project = state.view.projects.newest.find(({ deployment }) => deployment === id);
  const actions = html`<${Copy} text=${id}>Copy id<//><${Copy} text=${project?.id}>Copy project id<//>
    <${Copy} text=${buildLink(`&deployment=${encodeURIComponent(id)}`)}>Copy link<//>`;
  const facts = project && { Project: project.name, "Project id": project.id, Created: `${dateAndTime(project.created_at)} UTC` };
  return html`<${Inspector} title=${id} actions=${actions} opener=${`[data-deployment="${CSS.escape(id)}"]`}>
    ${project ? html`<${Pairs} of=${Object.entries(facts)} /><${Timeline} project=${project} polls=${polls} />`
      : html`<p>This is not the latest deployment of a listed project.</p>`}
    <p class="hint">Your client read it ${plural(polls.length, "time")}${polls.length > 10 ? "; the newest 10:" : "."}</p>
    <${Pairs} of=${polls.slice(-10).reverse().map(({ time, status, code, response }) =>
      [`${clockTime(time)} UTC`, `${status} ${code ?? findStatus(response.body)}`])} />
  <//>`;
}

/** Find the status in the body of a deployment: the member `status`, or the first known status. */
const findStatus = (body) =>
  /"status"\s*:\s*"([^"]*)"/.exec(body)?.[1] ?? state.view.statuses.find((word) => body.includes(JSON.stringify(word))) ?? "";

function Timeline({ project, polls }) {
  const { timeline, since } = project;
  const age = Date.parse(state.view.clock.now) - Date.parse(since);
  let start = 0;
  const stages = timeline.map(({ status, seconds }) => {
    const stage = { status, start, end: start + 1000 * (seconds ?? Infinity) };
    start = stage.end;
    return stage;
  });
  const total = (stages.at(-2)?.end || 1) / (1 - END);
  const at = (time) => Math.min(100, Math.max(0, (100 * time) / total));
  const next = stages.find((stage) => stage.start > age);
  const [, attempted] = useAttempt();
  const advance = () => attempted("The clock is advanced", "POST", "/_stub/clock", { advance: (next.start - age) / 1000 });
  const asked = polls.map(({ time }) => Date.parse(time) - Date.parse(since)).filter((time) => time >= 0);
  return html`<h3>Timeline</h3>
    <svg class="timeline" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      ${stages.map(({ status, start, end }) => html`<rect data-status=${findLook(status).kind} x=${at(start)} width=${at(end) - at(start)} y="4" height="5" />`)}
      ${asked.map((time) => html`<line x1=${at(time)} x2=${at(time)} y1="0" y2="3" />`)}
      <rect class="now" x=${at(age) - 0.3} width="0.6" y="2" height="8" />
    </svg>
    <p class="hint">The mark is the current time. A line above the bar is a request of your client.</p>
    <ol class="stages">${stages.map(({ status, start, end }) => html`<li data-status=${findLook(status).kind}
      aria-current=${age >= start && age < end ? "step" : null}>
      <b>${findLook(status).sign} ${visible(status)}</b> <span class="hint">${left(age, start, end)}</span>
    </li>`)}</ol>
    ${next && html`<p><button type="button" onClick=${advance}>Advance to ${visible(next.status)}</button></p>`}`;
}

function left(age, start, end) {
  if (age >= end) return `took ${((end - start) / 1000).toLocaleString("en", { maximumFractionDigits: 1 })} s`;
  if (age < start) return `in ${Math.ceil((start - age) / 1000)} s`;
  return end === Infinity ? "now" : `now, ${Math.ceil((end - age) / 1000)} s left`;
}
