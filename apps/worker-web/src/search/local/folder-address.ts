const FOLDER = 'folder:///';

/** A path of a file as an address writes it. */
export const addressBelow = (path: string): string =>
  path
    .split('/')
    .map((part) => encodeURIComponent(part.toWellFormed()))
    .join('/');

/** The address of a file: a name below the tenant's folder, which says nothing of where that is. */
export const folderAddress = (path: string): string => `${FOLDER}${addressBelow(path)}`;

/** The file that an address names; undefined for any other address. */
export const pathOf = (address: string): string | undefined => {
  if (!address.startsWith(FOLDER)) return undefined;
  try {
    return decodeURIComponent(address.slice(FOLDER.length));
  } catch {
    return undefined;
  }
};
