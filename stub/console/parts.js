// Parts that several regions use.

import { html, useEffect, useLayoutEffect, useRef, useState } from "./preact.js";
import { buildCommand } from "./command.js";
import { announce, state } from "./state.js";
import { attempt } from "./wire.js";
import { poll } from "./poll.js";

const MARKS = { unpromised: "△", violation: "✕", fault: "⚡", grease: "≈" };
export const marked = (kind) => `${MARKS[kind]} ${kind}`;
export const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
export const clockTime = (timestamp) => timestamp.slice(11, 23);
export const dateAndTime = (timestamp) => timestamp.slice(0, 19).replace("T", " ");

// A control character becomes a symbol, and another invisible character its number. The joiners of
// emoji stay.
const HIDDEN = /(?<!\p{Emoji}\uFE0F?)\u200D|(?<!\p{Emoji})\uFE0F|(?![\u200D\uFE0F\n])[\p{C}\p{DI}\p{Zl}\p{Zp}\u2800]|(?! )\p{Zs}/gu;

/** Make the invisible characters of a text visible. */
export const visible = (text) =>
  text.replace(HIDDEN, (char) => {
    const code = char.codePointAt(0);
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    return code === 0x7f ? "␡" : `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });

/** An attempt of a form or a button: `[error, try, forget the error]`. A success announces the text `said`. */
export function useAttempt() {
  const [error, setError] = useState(null);
  const attempted = async (said, ...request) => {
    const found = await attempt(...request);
    if (!found) announce(said);
    setError(found && { ...found, epoch: state.epoch, instance: state.view?.instance });
    await poll();
    return !found;
  };
  // A new connection or a reset removes the error.
  const isCurrent = error?.epoch === state.epoch && error?.instance === state.view?.instance;
  return [isCurrent ? error : null, attempted, () => setError(null)];
}

/** A value that changes at once, before `send` has ended: `[shown, change]`. */
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

/** The attributes of a field with an error. The element `id` describes the error. */
export const invalid = (error, name, id) =>
  error?.members?.some((member) => member.split("/")[0] === name)
    ? { "aria-invalid": "true", "aria-describedby": id }
    : {};

/** A field of a form. Its error is in the element `FORM-error`. */
export function Field({ form, name, label = name[0].toUpperCase() + name.slice(1), error, placeholder, isText, isLong, choices }) {
  const attributes = { id: `${form}-${name}`, name, placeholder, ...invalid(error, name, `${form}-error`) };
  return html`<div class="field"><label for=${attributes.id}>${label}</label>
    ${choices ? html`<select ...${attributes}>${Object.entries(choices).map(([value, text]) => html`<option value=${value}>${text}</option>`)}</select>`
      : isLong ? html`<textarea ...${attributes} rows="2"></textarea>`
      : html`<input ...${attributes} type=${isText ? "text" : "number"} step="any" />`}</div>`;
}

/** Read the filled fields of a form. An invalid number stays a text, and the stub rejects it. */
export function readForm(form) {
  const filled = [...form.elements].filter(({ name, value, validity }) => name && (value || validity.badInput));
  return Object.fromEntries(filled.map(({ name, value, type }) => [name, type === "number" && value ? Number(value) : value]));
}

export const Code = ({ text, label }) =>
  html`<pre tabindex="0" role="group" aria-label=${label}><code>${visible(text)}</code></pre>`;

/** A button that copies a text. It shows the result for two seconds. */
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

/** Copy a text, and return whether that worked. `navigator.clipboard` would need a secure origin. */
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

/** A modal dialog. It is open as long as it is rendered. */
export function Dialog({ title, onClose, children }) {
  const ref = useRef();
  useLayoutEffect(() => {
    const dialog = ref.current;
    dialog.showModal();
    return () => dialog.close(); // This gives the focus back.
  }, []);
  const closed = (event) => event.target.isConnected && onClose(); // The event of an earlier dialog may come late.
  return html`<dialog ref=${ref} aria-labelledby="dialog-title" onClose=${closed}>
    <h2 id="dialog-title" tabindex="-1" autofocus>${title}</h2>${children}
  </dialog>`;
}

/** Tabs, and the content of the chosen tab. The arrow keys choose the next tab. */
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

/** The content of an empty list: a text, and a command that fills it. `of` is a path and words for a shell. */
export const Empty = ({ text, of }) => html`<div class="empty">
  <p>${text}</p>
  <${Code} text=${buildCommand(...of)} label="Command" />
  <p><${Copy} text=${buildCommand(...of)}>Copy command<//></p>
</div>`;

/** A list of names and values. */
export const Pairs = ({ of }) => html`<dl>
  ${of.map(([name, value]) => html`<div><dt>${visible(name)}</dt><dd>${visible(String(value))}</dd></div>`)}
</dl>`;
