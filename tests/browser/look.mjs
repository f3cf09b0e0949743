// node look.mjs PLAYWRIGHT AXE PROGRAM URL [FOLDER]: uses a board as a person does, in a real browser, and prints what
// was seen. Screenshots go into FOLDER.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
const [playwright, axe, executablePath, url, folder] = process.argv.slice(2);
const { chromium } = createRequire(import.meta.url)(playwright);
const options = { executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] };
const browser = await chromium.launch(options);
const seen = { console: [], requests: [], axe: {}, dialogs: 0 };

async function open(colorScheme, viewport, at = url) {
  const context = await browser.newContext({ colorScheme, viewport });
  const tab = await context.newPage();
  tab.setDefaultTimeout(120_000);
  tab.on("console", (line) => seen.console.push(line.text()));
  tab.on("pageerror", (error) => seen.console.push(String(error)));
  tab.on("dialog", (dialog) => { seen.dialogs += 1; dialog.dismiss(); });
  tab.on("request", (request) => seen.requests.push(request.url()));
  await tab.goto(at, { waitUntil: "load", timeout: 120_000 });
  return tab;
}
const shot = async (tab, name) => { if (folder) await tab.screenshot({ path: `${folder}/${name}.png` }); };
async function judge(tab, name) { // evaluated by the debugger, which the page's policy does not bind
  await tab.evaluate(readFileSync(axe, "utf8"));
  const found = await tab.evaluate(() => window.axe.run(document));
  seen.axe[name] = {
    passes: found.passes.length,
    violations: found.violations.map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 200)}`),
  };
}

for (const scheme of ["light", "dark"]) {
  const tab = await open(scheme, { width: 1440, height: 900 });
  await shot(tab, scheme);
  await judge(tab, scheme);
  await tab.locator("#calendar td button").last().click();
  await shot(tab, `${scheme}-panel`);
  await judge(tab, `${scheme}, panel`);
  await tab.context().close();
}

const tab = await open("light", { width: 1440, height: 900 });
seen.timing = await tab.evaluate(async () => {
  const [load] = performance.getEntriesByType("navigation");
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  return { response: load.responseEnd, interactive: load.domInteractive, complete: load.loadEventEnd, paint: paint?.startTime };
});
seen.cells = await tab.locator("#calendar td button").count();
seen.rows = await tab.locator("#calendar tbody tr").count();
seen.scripts = await tab.evaluate(() => document.querySelectorAll("script, img, iframe, link").length);
seen.names = await tab.evaluate(() => [...document.querySelectorAll(".job")].map((name) => name.textContent));
// By keyboard alone: to the calendar, along it, into a day and back.
await tab.keyboard.press("/");
seen.filterHasFocus = await tab.evaluate(() => document.activeElement.id);
await tab.locator('#calendar button[tabindex="0"]').focus();
const active = () => tab.evaluate(() => document.activeElement.getAttribute("aria-label") ?? document.activeElement.id);
seen.stops = await tab.locator('#calendar button[tabindex="0"]').count();
seen.first = await active();
seen.tip = await tab.locator("#tip").textContent();
await tab.keyboard.press("ArrowLeft");
seen.left = await active();
await tab.keyboard.press("ArrowDown");
seen.down = await active();
await tab.keyboard.press("Enter");
seen.panel = await tab.locator("#panel").innerText();
seen.hash = new URL(tab.url()).hash;
await tab.keyboard.press("Escape");
seen.panelIsClosed = await tab.locator("#panel").isHidden();
seen.back = await active();
// By pointer, through the filter.
await tab.locator("#calendar td button").first().hover();
seen.hover = await tab.locator("#tip").textContent();
await tab.locator("#look").check();
seen.needLook = await tab.locator("#calendar tbody tr:not([hidden])").count();
seen.count = await tab.locator("#count").textContent();
await tab.locator("#look").uncheck();
await tab.locator("#filter").fill(seen.names.at(-1));
seen.filtered = await tab.evaluate(() => [...document.querySelectorAll("tbody tr:not([hidden]) .job")].map((e) => e.textContent));
await tab.context().close();

const deep = await open("light", { width: 1440, height: 900 }, url + seen.hash);
seen.deep = await deep.locator("#panel-title").textContent();
await deep.context().close();

const phone = await open("dark", { width: 390, height: 844 });
seen.phoneOverflow = await phone.evaluate(() => document.documentElement.scrollWidth - innerWidth);
await shot(phone, "phone");
await phone.locator("#calendar td button").last().click();
await shot(phone, "phone-panel");
await judge(phone, "phone, panel");
await browser.close();
console.log(JSON.stringify(seen));
