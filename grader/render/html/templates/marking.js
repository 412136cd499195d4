"use strict";
// The page of `grader mark`: keys, the points of what is chosen, and saving. It makes no HTML.

const form = document.getElementById("rubric");
const help = document.getElementById("help");
const comment = document.getElementById("comment");
const said = document.getElementById("said");
const UNIT = 10000; // points are added as whole ten-thousandths, so that a tenth is one

let isLeaving = false;
let isSaving = false;

function boxes() {
  return form ? [...form.querySelectorAll("input[type=checkbox]")] : [];
}

function chosen() {
  return boxes().filter((box) => box.checked).map((box) => box.name);
}

function choice() {
  return JSON.stringify([chosen(), comment.value.trim()]);
}

const before = form ? choice() : "";

function isChanged() {
  return form !== null && choice() !== before;
}

function showPoints() {
  const most = Math.round(Number(form.dataset.points) * UNIT);
  const picked = boxes().filter((box) => box.checked);
  const sum = picked.reduce((all, box) => all + Math.round(Number(box.dataset.points) * UNIT), 0);
  const points = Math.min(Math.max(sum, 0), most) / UNIT;
  document.getElementById("total").value = String(Math.round(points * 100) / 100);
}

function choose(box, isOn) {
  box.checked = isOn;
  const group = box.dataset.group;
  if (isOn && group) {
    for (const other of boxes()) {
      if (other !== box && other.dataset.group === group) {
        other.checked = false;
      }
    }
  }
  showPoints();
}

function leave(address) {
  isLeaving = true;
  location.assign(address);
}

function tell(words, address) {
  said.replaceChildren(words);
  if (address) {
    const link = document.createElement("a");
    link.href = address;
    link.textContent = form.dataset.reload;
    link.addEventListener("click", () => { isLeaving = true; });
    said.append(" ", link);
  }
}

// Save what is chosen, and go on: where the server says, or to an address. Nothing chosen is no
// marking, unless no points are given on purpose: who pressed Enter to read on gave 0 of 10.
async function save(address, isTakenBack, isNothing = false) {
  if (isSaving || isLeaving) {
    return; // whoever presses Enter twice has marked once
  }
  if (!isTakenBack && !isNothing && !chosen().length && !comment.value.trim()) {
    tell(form.dataset.unchosen, "");
    return;
  }
  isSaving = true;
  const marked = {
    chosen: chosen(),
    comment: comment.value.trim(),
    seen: Number(form.dataset.seen),
    is_taken_back: isTakenBack,
  };
  try {
    const answer = await fetch(form.dataset.address, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(marked),
    });
    const told = await answer.json();
    if (answer.ok) {
      leave(address || told.next);
    } else {
      tell(told.message, answer.status === 409 ? form.dataset.address : "");
    }
  } catch {
    tell(form.dataset.failed, "");
  }
  isSaving = false;
}

function go(id) {
  const link = document.getElementById(id);
  if (!link) {
    return;
  }
  if (isChanged()) {
    save(link.href, false);
  } else {
    leave(link.href);
  }
}

function giveNothing() {
  for (const box of boxes()) {
    box.checked = false;
  }
  showPoints();
  save("", false, true);
}

const KEYS = {
  n: () => go("next"),
  p: () => go("previous"),
  f: () => go("filter"),
  w: () => go("extent"),
  c: () => comment && comment.focus(),
  u: () => document.getElementById("take-back") && save("", true),
  z: () => form && giveNothing(),
  Enter: () => form && save("", false),
  "?": () => help && help.showModal(),
};

// With a Chinese or Korean keyboard a letter is no Latin one, and with a French one a digit is a
// sign: then the key's place counts.
function nameOf(event) {
  if (event.code.startsWith("Digit") && !event.shiftKey) {
    return event.code.slice(5);
  }
  const isLetter = event.code.startsWith("Key") && !/^[ -~]$/.test(event.key);
  return isLetter ? event.code.slice(3).toLowerCase() : event.key;
}

document.addEventListener("keydown", (event) => {
  if (event.isComposing || event.altKey || event.metaKey || (help && help.open)) {
    return;
  }
  // The button of a dialog that was just closed has the focus until the page is drawn again.
  const inside = event.target.closest("dialog") ? "" : event.target.tagName;
  if (inside === "TEXTAREA") {
    if (event.key === "Escape") {
      comment.blur();
    } else if (event.key === "Enter" && event.ctrlKey) {
      event.preventDefault();
      save("", false);
    }
    return;
  }
  const isOwnEnter = event.key === "Enter" && ["A", "BUTTON", "SUMMARY"].includes(inside);
  if (event.ctrlKey || isOwnEnter || event.repeat) {
    return;
  }
  const key = nameOf(event);
  const box = boxes().find((each) => each.dataset.key === key);
  if (box) {
    event.preventDefault();
    choose(box, !box.checked);
  } else if (Object.hasOwn(KEYS, key)) {
    event.preventDefault();
    KEYS[key]();
  }
});

if (form) {
  form.addEventListener("change", (event) => {
    if (event.target.type === "checkbox") {
      choose(event.target, event.target.checked);
    }
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    save("", false);
  });
  form.addEventListener("click", (event) => {
    const used = event.target.closest("[data-comment]");
    if (used) {
      comment.value = [comment.value.trim(), used.textContent].filter(Boolean).join(" ");
      comment.focus();
    }
    if (event.target.closest("#no-points")) {
      giveNothing();
    }
    if (event.target.closest("#take-back")) {
      save("", true);
    }
    if (event.target.closest("#ask")) {
      help.showModal();
    }
  });
  for (const id of ["next", "previous", "filter", "extent"]) {
    const link = document.getElementById(id);
    if (link) {
      link.addEventListener("click", (event) => {
        event.preventDefault();
        go(id);
      });
    }
  }
  addEventListener("beforeunload", (event) => {
    if (isChanged() && !isLeaving) {
      event.preventDefault();
    }
  });
  showPoints();
}
