package import PowerSyncSyncConfig

/// Rows of a table that may have changed, or gone, with rows of another table, without a change in the stream: a foreign key has a rule
/// such as `ON DELETE CASCADE`, and the log of the source does not have what the rule does.
///
/// They are the rows that have the values of the other rows in the columns of the foreign key. The source may have none of them any more:
/// which ones they were, the storage knows (``SourceTableDescriptor/references``). Each is read as it is now.
///
/// ```
/// lists 'l1' deleted     cascade of todos where list_id = 'l1'          references: notes.todo_id → todos.id
///                        → todos 't1', 't2', and notes where todo_id is one of them
/// ```
package struct Cascade: Sendable, Hashable {
    /// A foreign key of a table to the identity of another one, by which more rows may have changed.
    package struct Reference: Sendable, Hashable {
        /// The table with the foreign key, by the relation id of its descriptor.
        package var relationID: String
        /// The columns of the foreign key, one list of ``SourceTableDescriptor/references``.
        package var columns: [String]
        /// The table that it refers to.
        package var parentID: String
        /// Where the values of the columns are in the identity of a row that it refers to.
        package var keyPlaces: [Int]

        /// Creates a reference.
        package init(relationID: String, columns: [String], parentID: String, keyPlaces: [Int]) {
            self.relationID = relationID
            self.columns = columns
            self.parentID = parentID
            self.keyPlaces = keyPlaces
        }
    }

    /// The table, by the relation id of its descriptor.
    package var relationID: String
    /// The columns of the foreign key, one list of ``SourceTableDescriptor/references``.
    package var columns: [String]
    /// What the rows have in these columns, or had: a list for each row that they refer to.
    package var values: [[SQLValue]]
    /// The foreign keys by which the change of a row of this table, or of one that is found by them, changes rows of others.
    package var references: [Reference]
    /// When the transaction took effect, as in ``PartialUpdate/moment``.
    package var moment: SourceMoment?

    /// Creates a message.
    package init(
        relationID: String,
        columns: [String],
        values: [[SQLValue]],
        references: [Reference],
        moment: SourceMoment?
    ) {
        self.relationID = relationID
        self.columns = columns
        self.values = values
        self.references = references
        self.moment = moment
    }
}
