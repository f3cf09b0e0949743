export async function rebuildSitemap() {}
