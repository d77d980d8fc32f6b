// Chooses the page by what stands after # in the address.
import { find, h } from "/static/ui.js";
import { startAddition } from "/static/addition.js";
import { startSudoku } from "/static/sudoku.js";
import { startLiars } from "/static/liars.js";
import { startTheory } from "/static/theory.js";

const pages = { addition: startAddition, sudoku: startSudoku, liars: startLiars, theory: startTheory };
const titles = { addition: "Addition", sudoku: "Sudoku", liars: "Liars", theory: "Theory" };
const started = new Set();

const about = fetch("/api/about").then((response) => response.json());

async function open() {
  const asked = location.hash.slice(1);
  if (asked === "main") return;
  const name = asked in pages ? asked : "addition";
  for (const other of Object.keys(pages)) find(`page-${other}`).hidden = other !== name;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${titles[name]} · smtlayer playground`;
  if (started.has(name)) return;
  started.add(name);
  try {
    await pages[name](await about);
  } catch (error) {
    find("main").prepend(h("p", { class: "error", role: "alert" }, error.message));
  }
}

addEventListener("hashchange", () => {
  open();
  scrollTo(0, 0);
});
open();
