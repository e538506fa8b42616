import GRDB

extension Database {
    /// The texts of the statements that SQLite runs, those of functions and virtual tables among them, in the order in which they
    /// begin; without the programs of triggers.
    func statementsRun(by body: () throws -> Void) rethrows -> [String] {
        try textsTraced(by: body).filter { !$0.hasPrefix("--") }
    }

    /// The texts of the statements that SQLite runs, and after `-- ` those that run within them: the steps of triggers, and the
    /// statements of functions and virtual tables.
    func textsTraced(by body: () throws -> Void) rethrows -> [String] {
        var texts: [String] = []
        trace { event in
            if case .statement(let statement) = event { texts.append(statement.sql) }
        }
        defer { trace() }
        try body()
        return texts
    }
}
