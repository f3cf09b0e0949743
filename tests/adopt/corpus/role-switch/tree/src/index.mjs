const role = process.env.ROLE ?? 'web';

switch (role) {
  case 'web': {
    const { serve } = await import('./web.mjs');
    await serve();
    break;
  }
  case 'scheduler': {
    const { schedule } = await import('./scheduler.mjs');
    schedule();
    break;
  }
  default:
    throw new Error(`unknown role ${role}`);
}
