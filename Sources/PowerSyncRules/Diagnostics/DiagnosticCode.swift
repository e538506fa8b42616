/// The identifiers of findings (docs/sync-config.md "Findings").
enum DiagnosticCode: String, Sendable {
    case yamlSyntax = "yaml.syntax"
    case yamlNotMap = "yaml.not_map"
    case yamlUnknownKey = "yaml.unknown_key"
    case yamlExpectedScalar = "yaml.expected_scalar"
    case yamlExpectedSequence = "yaml.expected_sequence"
    case yamlExpectedBool = "yaml.expected_bool"
    case configEdition = "config.edition"
    case configPrecision = "config.precision"
    /// Ours: a value of `config` that the format does not have.
    case configValue = "config.value"
    /// Ours: part of the format, but not of this version of the service.
    case configNotSupportedYet = "config.not_supported_yet"
    case streamsMissing = "streams.missing"
    case cteEdition = "cte.edition"

    case sqlSyntax = "sql.syntax"
    case sqlNotSelect = "sql.not_select"
    case sqlUnsupportedClause = "sql.unsupported_clause"
    case sqlUnknownFunction = "sql.unknown_function"
    case sqlArity = "sql.arity"
    case sqlWindow = "sql.window"
    case sqlNondeterministic = "sql.nondeterministic"
    case sqlUnsupportedExpression = "sql.unsupported_expr"
    case sqlAmbiguousColumn = "sql.ambiguous_column"
    case sqlUnknownTable = "sql.unknown_table"
    case sqlStarNotAllowed = "sql.star_not_allowed"
    case sqlSubqueryColumns = "sql.subquery_columns"
    /// Ours: part of the language, but not of this version of the compiler.
    case sqlNotSupportedYet = "sql.not_supported_yet"

    case streamQueryXorQueries = "stream.query_xor_queries"
    case streamPriority = "stream.priority"
    case streamMultiTableOutput = "stream.multi_table_output"
    case streamNoTableOutput = "stream.no_table_output"
    case streamOutputRequestValue = "stream.output_request_value"
    case streamTooManyBuckets = "stream.too_many_buckets"
    case streamDangerousParameter = "stream.dangerous_parameter"
    case filterMixedDependencies = "filter.mixed_dependencies"
    case filterUnrelated = "filter.unrelated"
    case filterTooComplex = "filter.too_complex"
    case columnUnnamed = "column.unnamed"
    case columnStarAfterAlias = "column.star_after_alias"
    case tableAliasRenames = "table.alias_renames"
    case lookupUnbounded = "lookup.unbounded"

    /// How serious findings with this code are.
    var severity: ConfigDiagnostic.Severity {
        switch self {
        case .streamDangerousParameter, .columnUnnamed, .columnStarAfterAlias, .tableAliasRenames, .lookupUnbounded:
            .warning
        default:
            .error
        }
    }
}
