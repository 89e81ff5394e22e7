// A box that scrolls sideways must be reachable by keyboard.
function makeScrollersFocusable() {
  const boxes = ".bd-article pre, .bd-article .output, .bd-article .math, " +
    ".bd-article .pst-scrollable-table-container, .bd-article mjx-container, " +
    ".bd-article .odt-scroll, .bd-article [style*='overflow-x']";
  for (const box of document.querySelectorAll(boxes)) {
    if (box.scrollWidth > box.clientWidth) box.setAttribute("tabindex", "0");
    else box.removeAttribute("tabindex");
  }
}
addEventListener("load", makeScrollersFocusable);
addEventListener("resize", makeScrollersFocusable);

// On paper nothing can be opened: print the answers of quizzes too.
addEventListener("beforeprint", () => {
  for (const folded of document.querySelectorAll("details:not([open])")) {
    folded.open = folded.dataset.printed = true;
  }
});
addEventListener("afterprint", () => {
  for (const folded of document.querySelectorAll("details[data-printed]")) {
    folded.open = false;
    delete folded.dataset.printed;
  }
});
