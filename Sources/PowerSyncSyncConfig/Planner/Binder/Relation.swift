/// Something that names in a query can refer to.
struct Relation {
    /// What it is.
    enum Kind {
        /// A table.
        case table(ResultSetID)
        /// A table-valued function.
        case function(ResultSetID)
        /// A subquery or a common table expression, whose columns stand for expressions.
        case derived([DerivedColumn])
    }

    /// A column that stands for an expression.
    struct DerivedColumn {
        var name: String
        var scalar: Scalar
    }

    /// The alias or the name.
    var name: String
    /// The schema as written, if it was.
    var schema: String?
    /// What it is.
    var kind: Kind
    /// The place of the item after `FROM`.
    var range: Range<Int>
}

/// The relations of one `SELECT`.
struct BindingScope {
    /// The relations, in the order of `FROM`.
    private(set) var relations: [Relation] = []
    private var positions: [String: Int] = [:]

    /// Adds a relation.
    ///
    /// - Returns: `false` when there is one of this name; names match without regard to case.
    mutating func add(_ relation: Relation) -> Bool {
        relations.append(relation)
        let isNew = positions[relation.name.lowercased()] == nil
        if isNew { positions[relation.name.lowercased()] = relations.count - 1 }
        return isNew
    }

    /// The relation of a name.
    func relation(named name: String) -> Relation? {
        positions[name.lowercased()].map { relations[$0] }
    }
}

/// A common table expression that a query can refer to.
enum CommonTable {
    /// Its syntax; each reference binds it anew, so that two references are two joins.
    case select(SQLSelect)
    /// It has errors, which are reported where it is defined.
    case broken
}

/// How a query is to be understood.
struct BindingOptions {
    /// Which names and functions a query has.
    enum Dialect: Hashable {
        /// A query of a stream.
        case stream
        /// A parameter query of a legacy bucket definition.
        case parameterQuery
        /// A data query of a legacy bucket definition.
        case dataQuery
    }

    /// The edition: 1 to 3.
    var edition = 3
    /// Whether paths are split at dots only if they begin with `$`.
    var hasFixedJSONExtract = true
    /// Which names and functions there are.
    var dialect = Dialect.stream
    /// What is known about the source.
    var schema: SourceSchema?
    /// Why the source cannot do a pattern of tables; `nil` when it can do all.
    var patternRefusal: SyncConfig.PatternRefusal?
    /// What is known about the parameters of a bucket definition, by name.
    var parameterTypes: [String: ValueTypes] = [:]

    /// Whether `NULL != x`, `NOT IN` and `NOT BETWEEN` over NULL are NULL, and not true.
    var hasOldNullRules: Bool { edition < 3 }
}
