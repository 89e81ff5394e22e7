const drawing = box.querySelector("svg");
new ResizeObserver(() => drawing.style.setProperty("--odt-shrunk",
  drawing.viewBox.baseVal.width / (drawing.clientWidth || drawing.viewBox.baseVal.width)
)).observe(drawing);
