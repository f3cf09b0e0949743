export async function sendReports() {}
