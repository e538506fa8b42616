/// What a plan is bound to before it reads rows of a table: where the columns are, and what the table is called.
///
/// Binding happens once for a table. Rows are then read by position.
struct RowBinding {
    /// The columns of the rows.
    let layout: RowLayout
    /// The table.
    let table: SourceTableName
    /// The pattern that found it.
    let pattern: TablePattern

    /// Something about the table.
    subscript(metadata: PlanExpression.TableMetadata) -> SQLValue {
        switch metadata {
        case .schema: .text(table.schema)
        case .tableName: .text(table.name)
        case .tableSuffix: .text(pattern.suffix(of: table.name))
        }
    }
}

extension PlanExpression {
    /// The expression with positions for its columns, and with the names of the table filled in.
    ///
    /// A column that the rows do not have is `NULL`.
    func bound(to binding: RowBinding) -> PlanExpression {
        switch self {
        case .column(let name): binding.layout.position(of: name).map(PlanExpression.cell) ?? .literal(.null)
        case .metadata(let metadata): .literal(binding[metadata])
        case .literal, .cell, .output, .request, .failure, .bucketParameter: self
        case .call(let function, let operands): .call(function, operands.bound(to: binding))
        case .not(let operand): .not(operand.bound(to: binding))
        case .and(let terms): .and(terms.bound(to: binding))
        case .or(let terms): .or(terms.bound(to: binding))
        }
    }
}

extension [PlanExpression] {
    /// The expressions with positions for their columns.
    func bound(to binding: RowBinding) -> [PlanExpression] { map { $0.bound(to: binding) } }
}

extension [TableFunction] {
    /// The functions with positions for the columns of their arguments.
    func bound(to binding: RowBinding) -> [TableFunction] {
        map { TableFunction(kind: $0.kind, argument: $0.argument.bound(to: binding)) }
    }
}
