"use strict";
// Filters the facts and copies replays. Without it the page shows everything.

const form = document.getElementById("filter");
const facts = [...document.querySelectorAll("details.fact")];

function filter() {
  const outcomes = new Set(new FormData(form).getAll("outcome"));
  const wanted = form.elements.namedItem("function").value;
  let shown = 0;
  for (const section of document.querySelectorAll("section.function")) {
    let any = false;
    for (const fact of section.querySelectorAll("details.fact")) {
      const show = outcomes.has(fact.dataset.outcome) && (!wanted || wanted === section.dataset.function);
      fact.hidden = !show;
      any ||= show;
      shown += show;
    }
    section.hidden = !any;
  }
  document.getElementById("shown").textContent = `${shown} of ${facts.length} facts shown`;
}

function reveal() {
  const fact = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!form || !fact || !fact.matches("details.fact")) return;
  for (const box of form.querySelectorAll("input")) box.checked ||= box.value === fact.dataset.outcome;
  form.elements.namedItem("function").value = "";
  filter();
  fact.open = true;
  fact.scrollIntoView();
  fact.querySelector("summary").focus();
}

if (form) {
  const boxes = [...form.querySelectorAll("input")];
  const unheld = boxes.filter((box) => box.value !== "passed");
  for (const box of unheld.length ? unheld : boxes) box.checked = true;
  form.hidden = false;
  form.addEventListener("change", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("hashchange", reveal);
  filter();
  reveal();
}

for (const text of document.querySelectorAll(".replay pre")) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "copy";
  button.setAttribute("aria-label", "Copy these lines");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "copied";
    } catch {
      getSelection().selectAllChildren(text);
      button.textContent = "selected";
    }
    setTimeout(() => (button.textContent = "copy"), 2000);
  });
  const frame = document.createElement("div");
  frame.className = "copyable";
  text.replaceWith(frame);
  frame.append(text, button);
}
