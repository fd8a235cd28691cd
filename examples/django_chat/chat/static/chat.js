"use strict";
// A question is sent by fetch, and its answer read as Server-Sent Events. All text goes into `textContent`.
// Stopping is ending the request: the server sees that and ends the turn, of which nothing is stored.

const form = document.querySelector("#question");
const field = form.elements.text;
const list = document.querySelector("#messages");
const send = document.querySelector("#send");
const stop = document.querySelector("#stop");
let running = null; // the AbortController of the answer that is being written

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (!running && field.value.trim()) ask();
});
field.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    form.requestSubmit();
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") running?.abort();
});
stop.addEventListener("click", () => running?.abort());
for (const idea of document.querySelectorAll(".idea")) {
  idea.addEventListener("click", () => {
    field.value = idea.textContent;
    form.requestSubmit();
  });
}
scrollTo({ top: document.body.scrollHeight });

async function ask() {
  const question = field.value;
  const body = new FormData(form);
  const mine = add(list, "li", "message user");
  add(mine, "p", "", question);
  const answer = add(list, "li", "message assistant writing");
  add(answer, "p");
  document.querySelector("#welcome").hidden = true;
  field.value = "";
  show(new AbortController());
  follow(undefined, true);
  let problem = null;
  try {
    const response = await fetch(form.action, { method: "POST", body, signal: running.signal });
    if (!response.ok) throw new Error(`The server refused this (${response.status}).`);
    problem = await read(response.body, answer);
  } catch (error) {
    problem = error.name === "AbortError" ? "Stopped. Nothing of this was kept." : "The connection broke.";
    if (error.message.startsWith("The server")) problem = error.message;
  }
  answer.classList.remove("writing");
  if (problem) {
    for (const dropped of [mine, answer]) dropped.classList.add("dropped");
    follow(() => add(answer, "p", "remark", problem));
    if (!field.value) field.value = question; // to be sent again, or changed
  }
  show(null);
  field.focus();
}

// The events of an answer, until the last one; gives what went wrong, or null.
async function read(stream, answer) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return "The answer broke off.";
    const frames = (buffer + value).split("\n\n");
    buffer = frames.pop();
    for (const frame of frames) {
      const [, name, data] = frame.match(/^event: (.*)\ndata: (.*)$/);
      const last = follow(() => take(name, JSON.parse(data), answer));
      if (last !== undefined) return last;
    }
  }
}

function take(name, data, answer) {
  const text = answer.querySelector(":scope > p:last-of-type");
  switch (name) {
    case "text":
      text.textContent += data.text;
      return undefined;
    case "tool_started": {
      const tool = document.createElement("details");
      tool.className = "tool";
      tool.dataset.id = data.id;
      add(tool, "summary", "", `Looks up: ${data.name}`);
      add(tool, "pre", "", JSON.stringify(data.input));
      answer.insertBefore(tool, text);
      return undefined;
    }
    case "tool_finished": {
      const tool = [...answer.querySelectorAll(".tool")].find((one) => one.dataset.id === data.id);
      tool.classList.toggle("failed", data.is_error);
      tool.querySelector("summary").textContent = `${data.is_error ? "Could not look up" : "Looked up"}: ${data.name}`;
      add(tool, "pre", "", data.text);
      return undefined;
    }
    case "completed":
      return null;
    case "cancelled":
      return "Stopped. Nothing of this was kept.";
    case "error":
      return data.is_retryable ? "The model is not available just now." : "This could not be answered.";
  }
  return undefined; // thinking, and what a later release may send
}

function add(parent, tag, className = "", text = "") {
  const element = document.createElement(tag);
  element.className = className;
  element.textContent = text;
  parent.append(element);
  return element;
}

function show(controller) {
  running = controller;
  send.hidden = running !== null;
  stop.hidden = running === null;
}

// Keep the end in sight while something is added, unless the reader has scrolled away from it.
function follow(change = () => {}, always = false) {
  const page = document.documentElement;
  const isAtEnd = page.scrollHeight - page.scrollTop - page.clientHeight < 80;
  const result = change();
  if (isAtEnd || always) page.scrollTop = page.scrollHeight;
  return result;
}
