/// What a source row adds to a parameter index: the rows that a lookup finds under one key
/// (docs/sync-config.md "Rows to buckets").
package struct ParameterEntry: Sendable, Hashable {
    /// The index and the key.
    package var lookup: ParameterLookup
    /// The outputs that this source row contributes under the key; never empty.
    package var rows: [ParameterRow]

    /// Creates an entry.
    package init(lookup: ParameterLookup, rows: [ParameterRow]) {
        self.lookup = lookup
        self.rows = rows
    }
}

/// The output values of one match in a parameter index, in the order of the index's outputs.
///
/// A row without values is legal: an index that is only asked whether there is a match has no outputs.
package struct ParameterRow: Sendable, Hashable {
    /// The values; never `NULL` or bytes.
    package var values: [SQLValue]

    /// Creates a row.
    package init(values: [SQLValue]) {
        self.values = values
    }
}
