// node press.mjs PLAYWRIGHT AXE PROGRAM URL [FOLDER]: a widget in a plain page, as a dashboard shows it without scripts of
// the widget. Presses a day and judges what is then shown. Screenshots go into FOLDER.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
const [playwright, axe, executablePath, url, folder] = process.argv.slice(2);
const { chromium } = createRequire(import.meta.url)(playwright);
const options = { executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] };
const browser = await chromium.launch(options);
const seen = { axe: {}, dialogs: 0, requests: [], console: [] };
for (const theme of ["light", "dark"]) {
  const context = await browser.newContext({ colorScheme: theme === "light" ? "dark" : "light", viewport: { width: 1100, height: 900 } });
  const tab = await context.newPage();
  tab.setDefaultTimeout(120_000);
  tab.on("console", (line) => seen.console.push(line.text()));
  tab.on("dialog", (dialog) => { seen.dialogs += 1; dialog.dismiss(); });
  tab.on("request", (request) => seen.requests.push(request.url()));
  for (const part of ["widget", "popup"]) {
    await tab.goto(`${url}/${part}-${theme}.html`, { waitUntil: "load" });
    if (folder) await tab.screenshot({ path: `${folder}/${part}-${theme}.png`, fullPage: true });
    await tab.evaluate(readFileSync(axe, "utf8"));
    const found = await tab.evaluate(() => window.axe.run(document));
    seen.axe[`${part}, ${theme}`] = {
      passes: found.passes.length,
      violations: found.violations.map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 200)}`),
    };
  }
  await tab.goto(`${url}/widget-${theme}.html`, { waitUntil: "load" });
  seen[theme] = await tab.evaluate(() => ({
    background: getComputedStyle(document.querySelector(".failed")).backgroundColor,
    host: getComputedStyle(document.body).color,
    scripts: document.querySelectorAll("script, img, iframe, link").length,
    names: [...document.querySelectorAll(".job")].map((name) => name.textContent),
    cells: document.querySelectorAll("td button").length,
  }));
  // What a dashboard does: the element before `cwdb-action` is pressed, and its text is read as JSON.
  seen.pressed = await tab.evaluate(() => {
    const button = document.querySelector("td button.failed");
    button.focus();
    const action = button.nextElementSibling;
    return { focused: document.activeElement === button, name: action.localName, shown: action.getBoundingClientRect().width,
      display: action.getAttribute("display"), given: JSON.parse(action.textContent), label: button.getAttribute("aria-label") };
  });
  await context.close();
}
await browser.close();
console.log(JSON.stringify(seen));
