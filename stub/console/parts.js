// Parts that the regions share.

import { html, useEffect, useLayoutEffect, useRef, useState } from "./preact.js";
import { commandOf } from "./command.js";
import { announce, state } from "./state.js";
import { attempt } from "./wire.js";
import { poll } from "./poll.js";

const MARKS = { unpromised: "△", violation: "✕", fault: "⚡", grease: "≈" };
export const marked = (kind) => `${MARKS[kind]} ${kind}`;
export const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
export const clockTime = (timestamp) => timestamp.slice(11, 23);
export const dateAndTime = (timestamp) => timestamp.slice(0, 19).replace("T", " ");

// Controls have a symbol of their own, other invisible characters their number. What emoji are
// joined with stays.
const HIDDEN = /(?<!\p{Emoji}\uFE0F?)\u200D|(?<!\p{Emoji})\uFE0F|(?![\u200D\uFE0F\n])[\p{C}\p{DI}\p{Zl}\p{Zp}\u2800]|(?! )\p{Zs}/gu;

/** The text with each character visible that is not. */
export const visible = (text) =>
  text.replace(HIDDEN, (char) => {
    const code = char.codePointAt(0);
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    return code === 0x7f ? "␡" : `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });

/** What an attempt of a form or a button got: `[error, try it, forget the error]`. A success is announced by the text `said`. */
export function useAttempt() {
  const [error, setError] = useState(null);
  const attempted = async (said, ...request) => {
    const found = await attempt(...request);
    if (!found) announce(said);
    setError(found && { ...found, epoch: state.epoch, instance: state.view?.instance });
    await poll();
    return !found;
  };
  // It goes with a new connection, and with a reset.
  const isCurrent = error?.epoch === state.epoch && error?.instance === state.view?.instance;
  return [isCurrent ? error : null, attempted, () => setError(null)];
}

/** A value that is shown as wanted while `send` is on its way: `[shown, change it]`. */
export function useWanted(value, send) {
  const [wanted, setWanted] = useState(null);
  const change = async (next) => {
    setWanted(next);
    await send(next);
    setWanted(null);
  };
  return [wanted ?? value, change];
}

export const Problem = ({ error, id }) => html`<div class="problem"><p class="error" id=${id} role="alert">${error?.text}</p></div>`;

/** What says that a field has an error, which `id` describes. */
export const invalid = (error, name, id) =>
  error?.members?.some((member) => member.split("/")[0] === name)
    ? { "aria-invalid": "true", "aria-describedby": id }
    : {};

/** A field of a form, whose error stands in the element `FORM-error`. */
export function Field({ form, name, label = name[0].toUpperCase() + name.slice(1), error, placeholder, isText, isLong, choices }) {
  const attributes = { id: `${form}-${name}`, name, placeholder, ...invalid(error, name, `${form}-error`) };
  return html`<div class="field"><label for=${attributes.id}>${label}</label>
    ${choices ? html`<select ...${attributes}>${Object.entries(choices).map(([value, text]) => html`<option value=${value}>${text}</option>`)}</select>`
      : isLong ? html`<textarea ...${attributes} rows="2"></textarea>`
      : html`<input ...${attributes} type=${isText ? "text" : "number"} step="any" />`}</div>`;
}

/** The fields of a form that are filled in; a number that is none is a text, which the stub rejects. */
export function readForm(form) {
  const filled = [...form.elements].filter(({ name, value, validity }) => name && (value || validity.badInput));
  return Object.fromEntries(filled.map(({ name, value, type }) => [name, type === "number" && value ? Number(value) : value]));
}

export const Code = ({ text, label }) =>
  html`<pre tabindex="0" role="group" aria-label=${label}><code>${visible(text)}</code></pre>`;

/** A button that copies a text, and says so in its own place for two seconds. */
export function Copy({ text, children, ...rest }) {
  const [said, say] = useState(null);
  const button = useRef();
  useEffect(() => say(null), [text]);
  const onClick = () => {
    announce("");
    const { width } = button.current.getBoundingClientRect();
    const now = { word: copy(text, button.current) ? "Copied" : "Failed", style: { width: `${width}px`, padding: 0 } };
    say(now);
    announce(now.word);
    setTimeout(() => say((shown) => (shown === now ? null : shown)), 2000);
  };
  return html`<button type="button" ref=${button} aria-label=${children} ...${rest} style=${said?.style} aria-disabled=${String(!text)}
    onClick=${text && onClick} onBlur=${() => say(null)}>${said?.word ?? children}</button>`;
}

/** Copy a text; `navigator.clipboard` needs a secure origin. Returns whether that was possible. */
function copy(text, button) {
  const area = document.createElement("textarea");
  area.value = text;
  button.after(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  button.focus();
  return isCopied;
}

/** A modal dialog, which is open as long as it is rendered. */
export function Dialog({ title, onClose, children }) {
  const ref = useRef();
  useLayoutEffect(() => {
    const dialog = ref.current;
    dialog.showModal();
    return () => dialog.close(); // which gives the focus back; while it is open nothing else can have it
  }, []);
  const closed = (event) => event.target.isConnected && onClose(); // that of an earlier dialog may come late
  return html`<dialog ref=${ref} aria-labelledby="dialog-title" onClose=${closed}>
    <h2 id="dialog-title" tabindex="-1" autofocus>${title}</h2>${children}
  </dialog>`;
}

/** Tabs, and what the chosen one of them shows. The arrow keys choose the one beside it. */
export function Tabs({ names, chosen, choose, children }) {
  const onKeyDown = (event) => {
    const other = event.target[{ ArrowRight: "nextSibling", ArrowLeft: "previousSibling" }[event.key]];
    other?.focus();
    other?.click();
  };
  return html`<div role="tablist" onKeyDown=${onKeyDown}>
      ${names.map((name) => html`<button type="button" role="tab" id="tab-${name}" aria-selected=${String(name === chosen)}
        tabindex=${name === chosen ? 0 : -1} aria-controls="panel-${names[0]}" onClick=${() => choose(name)}>${name}</button>`)}
    </div>
    <div id="panel-${names[0]}" role="tabpanel" tabindex="0" aria-labelledby="tab-${chosen}">${children}</div>`;
}

/** What a region shows while it has nothing: the command, of a path and words for a shell, that changes that. */
export const Empty = ({ text, of }) => html`<div class="empty">
  <p>${text}</p>
  <${Code} text=${commandOf(...of)} label="Command" />
  <p><${Copy} text=${commandOf(...of)}>Copy command<//></p>
</div>`;

/** Names and their values. */
export const Pairs = ({ of }) => html`<dl>
  ${of.map(([name, value]) => html`<div><dt>${visible(name)}</dt><dd>${visible(String(value))}</dd></div>`)}
</dl>`;
