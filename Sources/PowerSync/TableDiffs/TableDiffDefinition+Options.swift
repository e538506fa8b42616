import GRDB
import PowerSyncCore

extension TableDiffDefinition {
    /// The engine's form of an app's options.
    ///
    /// - Throws: ``PowerSyncError/operationFailed(message:underlyingError:)`` for names that the schema does not know.
    init(of view: String, _ options: TableDiffOptions, in schema: ClientSchema?) throws {
        guard let table = schema?.tables.first(where: { $0.viewName == view }) else {
            throw PowerSyncError.operationFailed(message: "The schema has no view named '\(view)'")
        }
        let conditions = Dictionary(
            uniqueKeysWithValues: options.when.map { (Operation($0), $1) }
        )
        do {
            try self.init(table: table, columns: options.columns.names, conditions: conditions)
        } catch {
            throw PowerSyncError(error, view: view)
        }
    }
}

extension TableDiffDefinition.Operation {
    fileprivate init(_ operation: TableDiffOperation) {
        switch operation {
        case .insert: self = .insert
        case .update: self = .update
        case .delete: self = .delete
        }
    }
}

extension PowerSyncError {
    /// Why a table diff is refused.
    init(_ problem: TableDiffDefinition.Problem, view: String) {
        switch problem {
        case .noOperations:
            self = .operationFailed(message: "A table diff of '\(view)' needs at least one operation")
        case .insertOnly:
            self = .operationFailed(message: "'\(view)' is insert-only: it holds no rows whose changes can be tracked")
        case .unknownColumns(let names):
            let list = names.map { "'\($0)'" }.joined(separator: ", ")
            self = .operationFailed(message: "'\(view)' has no column named \(list)")
        case .invalidCondition(let operation, let error):
            self = .operationFailed(
                message: "The condition for \(operation.rawValue) of a table diff of '\(view)' is not valid: "
                    + (error.message ?? "unknown error"),
                underlyingError: PowerSyncError(error)
            )
        }
    }
}
