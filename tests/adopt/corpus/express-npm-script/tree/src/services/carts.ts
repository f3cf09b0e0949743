export async function purgeCarts() {}
