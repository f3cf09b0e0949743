export async function digest() {}
