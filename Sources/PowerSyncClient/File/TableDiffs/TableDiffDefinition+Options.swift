import GRDB
import PowerSyncCore

extension TableDiffDefinition {
    /// The engine's form of an app's options.
    ///
    /// - Throws: ``PowerSyncError/operationFailed(message:underlyingError:)`` for names that the schema does not know.
    init(of view: String, _ options: TableDiffOptions, in schema: ClientSchema?) throws {
        guard let table = schema?.tables.first(where: { $0.viewName == view }) else {
            throw PowerSyncError.noView(view)
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
            self = .noOperations(of: view)
        case .insertOnly:
            self = .insertOnly(view)
        case .unknownColumns(let names):
            self = .noColumns(names, in: view)
        case .invalidCondition(let operation, let error):
            self = .invalidCondition(for: operation.rawValue, of: view, error.message, PowerSyncError(error))
        }
    }
}
