/**
 * `npm run models-report`: writes docs/connect/models.md, the price and limits of every model that discovery lists, with their
 * sources. Made from the data that ships with the gateway; nobody is asked.
 */
import { writeFileSync } from 'node:fs';
import { modelsPage } from './models-page.ts';

writeFileSync('docs/connect/models.md', await modelsPage());
