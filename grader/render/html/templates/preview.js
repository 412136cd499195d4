"use strict";
// The page of `grader preview`: it asks every second whether a file has changed. It makes no HTML.

const language = document.getElementById("lang");
const mutant = document.getElementById("mutant");
const said = document.getElementById("said");
let before = null;

function load(name, address) {
  const frame = document.getElementById(name);
  const place = frame.contentWindow.scrollY;
  frame.addEventListener("load", () => frame.contentWindow.scrollTo(0, place), { once: true });
  frame.contentWindow.location.replace(address);
}

function showGraded() {
  load("graded", "/graded?mutant=" + encodeURIComponent(mutant.value));
}

function showTemplate() {
  load("template", "/template?lang=" + encodeURIComponent(language.value));
}

async function look() {
  try {
    const answer = await fetch("/state?mutant=" + encodeURIComponent(mutant.value));
    const state = await answer.json();
    said.textContent = "";
    if (before !== null && state.files !== before.files) {
      showTemplate();
      load("release", "/release");
      showGraded();
    } else if (before !== null && state.graded !== before.graded) {
      showGraded();
    }
    before = state;
  } catch {
    said.textContent = said.dataset.stopped;
  }
  setTimeout(look, 1000);
}

language.addEventListener("change", showTemplate);
mutant.addEventListener("change", () => {
  before = null;
  showGraded();
});
look();
