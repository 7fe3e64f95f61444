-- compatible_from 12: earlier releases send neither, and are answered as before.
-- A hold that must leave room for this many more of its size. For `functions.sql`: an extension may do with less than it asks for.
ALTER TYPE gateway.operation ADD ATTRIBUTE room integer;
