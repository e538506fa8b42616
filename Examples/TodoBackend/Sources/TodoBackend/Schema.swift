import GRDB

/// The tables of the app.
enum Schema {
    static func create(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE IF NOT EXISTS lists (
                    id TEXT PRIMARY KEY NOT NULL, owner_id TEXT NOT NULL, name TEXT NOT NULL
                );
                CREATE TABLE IF NOT EXISTS todos (
                    id TEXT PRIMARY KEY NOT NULL, list_id TEXT NOT NULL, title TEXT NOT NULL, done INTEGER NOT NULL DEFAULT 0,
                    photo_id TEXT
                );
                CREATE INDEX IF NOT EXISTS todos_of_list ON todos (list_id);
                """
        )
    }
}
