// A button that copies a block of code, without prompts and output of a Python session.
document.addEventListener("DOMContentLoaded", () => {
  for (const block of document.querySelectorAll("div.highlight")) {
    const button = document.createElement("button");
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      const lines = block.querySelector("pre").textContent.trimEnd().split("\n");
      const session = lines.some((line) => line.startsWith(">>> "));
      const input = session ? lines.filter((line) => /^(>>>|\.\.\.)/.test(line)).map((line) => line.slice(4)) : lines;
      await navigator.clipboard.writeText(input.join("\n"));
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    block.append(button);
  }
});
