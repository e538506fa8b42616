import PowerSyncProtocol

extension SQLFunctions {
    /// The functions with which the triggers of views write rows and queue entries; see ``RowObjectWriter``.
    ///
    /// | function | result |
    /// | --- | --- |
    /// | `powersync_row(table, names, values…[, old values…, stored row])` | the row to store |
    /// | `powersync_changes(table, names, values…[, old values…])` | the values to upload |
    /// | `powersync_object(names, values…[, later values…])` | values as they were |
    /// | `powersync_stored(table, id, row[, query])` | `row`; notes the rows whose unique keys it has |
    /// | `powersync_changed(view, count)` | `count`, which is added to the changed rows of the statement |
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
            ScalarFunction(name: "powersync_stored", argumentCount: -1, options: .resultSubtype) { call in
                guard call.count >= 3 else {
                    throw LocalDatabaseError.invalidArgument("expected a table, an id and a row")
                }
                let row = unsafe call[2].bytes
                if !call.state.isPublishing {
                    try unsafe call.state.recorder.noteRowsInTheWay(
                        type: call[0],
                        id: call[1],
                        data: row,
                        oldValues: call.count > 3 ? call[3] : nil
                    )
                }
                unsafe call.result(row, subtype: SQLArgument.jsonSubtype)
            },
            ScalarFunction(name: "powersync_changed", argumentCount: 2, options: .innocuous) { call in
                let count = call[1].integer
                unsafe call.state.viewChanges.add(count, of: call[0].bytes)
                call.result(count)
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
            throw LocalDatabaseError.invalidArgument("expected names and values", cause: call.count.counted("argument"))
        }
        try unsafe call.state.rowObject.withObject(
            purpose,
            of: nameIndex > 0 ? call[0] : nil,
            names: call[nameIndex].bytes,
            values: call.arguments(from: nameIndex + 1),
            call.state.doubleText
        ) { bytes in
            unsafe call.result(bytes, subtype: SQLArgument.jsonSubtype)
        }
    }
}

extension ScalarFunction.Options {
    fileprivate static let rowObject: Self = [.deterministic, .innocuous, .resultSubtype]
}
