import parser from 'cron-parser';
import cronstrue from 'cronstrue';

export const next = (text: string) => parser.parseExpression(text).next();
export const words = (text: string) => cronstrue.toString(text);
