import GRDB

extension Queries {
    /// Runs one statement for each of many parameter sets, in one transaction.
    ///
    /// ```swift
    /// try await database.executeBatch(
    ///     sql: "INSERT INTO lists (id, name) VALUES (uuid(), ?)",
    ///     parameterSets: [["Groceries"], ["Hardware"]]
    /// )
    /// ```
    ///
    /// The statement is prepared once. All or nothing is written; without parameter sets nothing is done.
    ///
    /// - Parameters:
    ///   - sql: The statement: one, not several.
    ///   - parameterSets: Values for `?`, one array for each run of the statement, each with as many as there are parameters.
    /// - Returns: The sum of the changed rows.
    /// - Throws: ``PowerSyncError``. When a run fails, it is
    ///   ``PowerSyncError/operationFailed(message:underlyingError:)`` with the index of the parameter set in its message,
    ///   and the error of the run below it.
    @discardableResult
    public func executeBatch(sql: String, parameterSets: [[(any Sendable)?]]) async throws -> Int64 {
        guard !parameterSets.isEmpty else { return 0 }
        return try await writeTransaction { transaction in
            let run = try LocalConnection.preparedRun(sql: sql, on: transaction)
            var changes: Int64 = 0
            for (index, parameters) in parameterSets.enumerated() {
                do {
                    changes += try run(parameters)
                } catch {
                    throw PowerSyncError.batchFailed(at: index, error)
                }
            }
            return changes
        }
    }
}
