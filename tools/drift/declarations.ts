/** The types that a package declares, read from its `.d.ts` files as far as the shapes of requests and answers need it. */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type ESTree, parseSync } from 'vite';

/** A type, or the name of one, together with the file in which names mean something. */
export type Place =
  | { readonly file: DeclarationFile; readonly type: ESTree.TSType }
  | { readonly file: DeclarationFile; readonly name: string };

export interface Member {
  readonly name: string;
  readonly value: Place;
}

interface Property {
  readonly name: string;
  readonly type: ESTree.TSType;
}

type Declaration =
  | { readonly kind: 'alias'; readonly type: ESTree.TSType }
  | { readonly kind: 'object'; readonly parents: readonly string[]; readonly properties: readonly Property[] };

/** Types behind whose first argument the type that matters stands. */
const TRANSPARENT = new Set(['Array', 'ReadonlyArray', 'Omit', 'Partial', 'Required', 'Readonly']);

export class DeclarationFile {
  readonly #path: string;
  /** All files of the package that were opened, by their paths. */
  readonly #files: Map<string, DeclarationFile>;
  readonly #declared = new Map<string, Declaration>();
  /** The local name of an import → its file, and its name there; null where the name is that of the whole file. */
  readonly #imports = new Map<string, { readonly path: string; readonly name: string | null }>();

  static open(path: string, files = new Map<string, DeclarationFile>()): DeclarationFile {
    const file = files.get(path) ?? new DeclarationFile(path, files);
    files.set(path, file);
    return file;
  }

  private constructor(path: string, files: Map<string, DeclarationFile>) {
    this.#path = path;
    this.#files = files;
    const { program, errors } = parseSync(path, readFileSync(path, 'utf8'), { lang: 'dts' });
    if (errors[0]) throw new Error(`${path}: ${errors[0].message}`);
    for (const statement of program.body) this.#declare(statement, '');
  }

  /** Throws where the file has no such type: the package has changed, and what is read of it must be named anew. */
  named(name: string): Place {
    if (!this.#declared.has(name)) throw new Error(`${this.#path} declares no type ${name}`);
    return { file: this, name };
  }

  declaration(name: string): Declaration | undefined {
    return this.#declared.get(name);
  }

  /** Where an imported name is declared. */
  imported(name: string): Place | null {
    const [first = '', ...rest] = name.split('.');
    const found = this.#imports.get(first);
    if (!found) return null;
    const path = resolve(dirname(this.#path), found.path.replace(/\.m?js$/, '.d.ts'));
    const names = found.name === null ? rest : [found.name, ...rest];
    return { file: DeclarationFile.open(path, this.#files), name: names.join('.') };
  }

  #declare(statement: ESTree.Directive | ESTree.Statement, within: string): void {
    if (statement.type === 'ImportDeclaration') this.#import(statement);
    const node = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement;
    if (node?.type === 'TSTypeAliasDeclaration') {
      this.#declared.set(within + node.id.name, { kind: 'alias', type: node.typeAnnotation });
    } else if (node?.type === 'TSInterfaceDeclaration') {
      const parents = node.extends.flatMap(({ expression }) => nameOf(expression) ?? []);
      const properties = signatures(node.body.body);
      this.#declared.set(within + node.id.name, { kind: 'object', parents, properties });
    } else if (node?.type === 'ClassDeclaration' && node.id) {
      this.#declared.set(within + node.id.name, { kind: 'object', parents: [], properties: classFields(node) });
    } else if (node?.type === 'TSModuleDeclaration' && node.id.type === 'Identifier' && node.body) {
      const { name } = node.id;
      for (const inner of node.body.body) this.#declare(inner, `${within}${name}.`);
    }
  }

  #import({ source, specifiers }: ESTree.ImportDeclaration): void {
    if (!source.value.startsWith('.')) return;
    for (const specifier of specifiers) {
      const imported = specifier.type === 'ImportSpecifier' ? nameOf(specifier.imported) : null;
      this.#imports.set(specifier.local.name, { path: source.value, name: imported });
    }
  }
}

/** The types that a type can be: the parts of unions, what names stand for, the elements of lists. */
export function alternatives(place: Place, seen = new Set<string>()): Place[] {
  const { file } = place;
  if ('name' in place) {
    const declared = file.declaration(place.name);
    if (declared?.kind === 'object') return [place];
    if (seen.has(place.name)) return [];
    seen.add(place.name);
    if (declared) return alternatives({ file, type: declared.type }, seen);
    const imported = file.imported(place.name);
    return imported ? alternatives(imported, new Set()) : [];
  }
  const { type } = place;
  switch (type.type) {
    case 'TSUnionType':
      return type.types.flatMap((part) => alternatives({ file, type: part }, seen));
    case 'TSArrayType':
      return alternatives({ file, type: type.elementType }, seen);
    case 'TSParenthesizedType':
      return alternatives({ file, type: type.typeAnnotation }, seen);
    case 'TSTypeReference': {
      const name = nameOf(type.typeName) ?? '';
      const [argument] = type.typeArguments?.params ?? [];
      return alternatives(TRANSPARENT.has(name) && argument ? { file, type: argument } : { file, name }, seen);
    }
    default:
      return [place];
  }
}

/** The members of every object that the type can be. */
export function membersOf(place: Place): Member[] {
  return alternatives(place).flatMap((one) => {
    const { file } = one;
    if ('name' in one) {
      const declared = file.declaration(one.name);
      if (declared?.kind !== 'object') return [];
      const inherited = declared.parents.flatMap((name) => membersOf({ file, name }));
      return [...inherited, ...placed(declared.properties, file)];
    }
    if (one.type.type === 'TSIntersectionType') return one.type.types.flatMap((type) => membersOf({ file, type }));
    return one.type.type === 'TSTypeLiteral' ? placed(signatures(one.type.members), file) : [];
  });
}

/** The strings that a type can be. */
export function literalsOf(place: Place): string[] {
  return alternatives(place).flatMap((one) => {
    if ('name' in one || one.type.type !== 'TSLiteralType' || one.type.literal.type !== 'Literal') return [];
    const { value } = one.type.literal;
    return typeof value === 'string' ? [value] : [];
  });
}

function placed(properties: readonly Property[], file: DeclarationFile): Member[] {
  return properties.map(({ name, type }) => ({ name, value: { file, type } }));
}

function signatures(members: readonly ESTree.TSSignature[]): Property[] {
  return members.flatMap((member) => (member.type === 'TSPropertySignature' ? property(member) : []));
}

function classFields(node: ESTree.Class): Property[] {
  return node.body.body.flatMap((member) => (member.type === 'PropertyDefinition' ? property(member) : []));
}

function property({ key, typeAnnotation }: ESTree.TSPropertySignature | ESTree.PropertyDefinition): Property[] {
  const name = key.type === 'Literal' ? String(key.value) : key.type === 'Identifier' ? key.name : null;
  return name === null || !typeAnnotation ? [] : [{ name, type: typeAnnotation.typeAnnotation }];
}

function nameOf(node: ESTree.Expression | ESTree.TSTypeName | ESTree.ModuleExportName): string | null {
  if (node.type === 'Identifier') return node.name;
  if (node.type === 'TSQualifiedName') return `${nameOf(node.left)}.${node.right.name}`;
  if (node.type !== 'MemberExpression' || node.property.type !== 'Identifier') return null;
  return `${nameOf(node.object)}.${node.property.name}`;
}
