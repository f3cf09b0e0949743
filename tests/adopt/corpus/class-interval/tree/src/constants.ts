export const ONE_DAY = 86_400_000;
