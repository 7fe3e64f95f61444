/**
 * One e-mail address, without a name and in ASCII: nothing in it can end a line, begin another header or name a second
 * receiver.
 */
export const EMAIL_ADDRESS =
  "^(?=.{3,254}$)[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*@[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$";
