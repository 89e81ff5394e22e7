// A box that scrolls sideways must be reachable by keyboard.
function makeScrollersFocusable() {
  const boxes = ".bd-article pre, .bd-article .output, .bd-article .math, " +
    ".bd-article .pst-scrollable-table-container, .bd-article mjx-container";
  for (const box of document.querySelectorAll(boxes)) {
    if (box.scrollWidth > box.clientWidth) box.setAttribute("tabindex", "0");
    else box.removeAttribute("tabindex");
  }
}
addEventListener("load", makeScrollersFocusable);
addEventListener("resize", makeScrollersFocusable);
