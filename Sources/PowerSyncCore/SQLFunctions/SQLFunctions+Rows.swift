extension SQLFunctions {
    /// The functions with which the triggers of views write rows and queue entries; see ``RowObjectWriter``.
    ///
    /// | function | result |
    /// | --- | --- |
    /// | `powersync_row(table, names, values…[, old values…])` | the row to store |
    /// | `powersync_changes(table, names, values…[, old values…])` | the values to upload |
    /// | `powersync_object(names, values…[, later values…])` | values as they were |
    ///
    /// `names` is a JSON array of column names. They are ours alone: other implementations replace triggers that call them by
    /// their own when they apply a schema, as we do with theirs.
    static var rowFunctions: [ScalarFunction] {
        [
            ScalarFunction(name: "powersync_row", argumentCount: -1, options: .rowObject) { call in
                try writeObject(.row, call, named: 1)
            },
            ScalarFunction(name: "powersync_changes", argumentCount: -1, options: .rowObject) { call in
                try writeObject(.upload, call, named: 1)
            },
            ScalarFunction(name: "powersync_object", argumentCount: -1, options: .rowObject) { call in
                try writeObject(.record, call, named: 0)
            },
        ]
    }

    /// Returns an object whose names are in the argument `nameIndex`, followed by the values.
    private static func writeObject(
        _ purpose: RowObjectWriter.Purpose,
        _ call: FunctionCall,
        named nameIndex: Int
    ) throws {
        guard call.count > nameIndex else {
            throw LocalDatabaseError.invalidArgument("expected names and values", cause: "\(call.count) arguments")
        }
        try call.state.rowObject.withObject(
            purpose,
            of: nameIndex > 0 ? call[0] : nil,
            names: call[nameIndex].bytes,
            values: call.arguments(from: nameIndex + 1),
            call.state.doubleText
        ) { bytes in
            call.result(bytes, subtype: SQLArgument.jsonSubtype)
        }
    }
}

extension ScalarFunction.Options {
    fileprivate static let rowObject: Self = [.deterministic, .innocuous, .resultSubtype]
}
