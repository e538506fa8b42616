/// The identifiers of findings (docs/sync-config.md "Findings").
enum DiagnosticCode: String, Sendable, CaseIterable {
    case yamlSyntax = "yaml.syntax"
    case yamlNotMap = "yaml.not_map"
    case yamlUnknownKey = "yaml.unknown_key"
    case yamlMissingKey = "yaml.missing_key"
    case yamlExpectedScalar = "yaml.expected_scalar"
    case yamlExpectedMap = "yaml.expected_map"
    case yamlExpectedSequence = "yaml.expected_sequence"
    case yamlExpectedBool = "yaml.expected_bool"
    case yamlExpansion = "yaml.expansion"
    case yamlNullSection = "yaml.null_section"
    case configEdition = "config.edition"
    case configOptionRequires = "config.option_requires"
    case configPrecision = "config.precision"
    case configStorageVersion = "config.storage_version"
    case configStorageUnstable = "config.storage_unstable"
    case configNoEffect = "config.no_effect"
    /// Ours: part of the format, but not of this service.
    case configUnsupported = "config.unsupported"
    case streamsMissing = "streams.missing"
    case streamsEdition = "streams.edition"
    case streamsLegacyInEdition3 = "streams.legacy_in_edition3"
    case streamsAlpha = "streams.alpha"
    case eventWhereIgnored = "event.where_ignored"
    /// Ours: a payload lacks a column of its event.
    case eventColumns = "event.columns"

    case cteEdition = "cte.edition"
    case cteSingleColumn = "cte.single_column"
    case cteUnused = "cte.unused"
    case cteShadowsTable = "cte.shadows_table"

    case sqlSyntax = "sql.syntax"
    case sqlNotSelect = "sql.not_select"
    case sqlManyStatements = "sql.many_statements"
    case sqlUnsupportedClause = "sql.unsupported_clause"
    case sqlUnknownFunction = "sql.unknown_function"
    case sqlArity = "sql.arity"
    case sqlWindow = "sql.window"
    case sqlNondeterministic = "sql.nondeterministic"
    case sqlRequestFunction = "sql.request_function"
    case sqlUnsupportedExpression = "sql.unsupported_expr"
    case sqlNumberRange = "sql.number_range"
    case sqlBadCast = "sql.bad_cast"
    case sqlBadSchema = "sql.bad_schema"
    /// Ours: the source cannot do a pattern of tables.
    case sourcePattern = "PSYNC_R2201"
    case sqlColumnSchema = "sql.column_schema"
    case sqlCaseFolded = "sql.case_folded"
    case sqlAmbiguousColumn = "sql.ambiguous_column"
    case sqlUnknownTable = "sql.unknown_table"
    /// Ours: a subquery or common table expression has no such column.
    case sqlUnknownColumn = "sql.unknown_column"
    case sqlDuplicateTable = "sql.duplicate_table"
    case sqlStarNotAllowed = "sql.star_not_allowed"
    case sqlSubqueryColumns = "sql.subquery_columns"
    case sqlDuplicateColumn = "sql.duplicate_column"

    case streamDuplicateName = "stream.duplicate_name"
    case streamEmptyName = "stream.empty_name"
    case streamQueryXorQueries = "stream.query_xor_queries"
    case streamPriority = "stream.priority"
    case streamMultiTableOutput = "stream.multi_table_output"
    case streamNoTableOutput = "stream.no_table_output"
    case streamOutputNotTable = "stream.output_not_table"
    case streamOutputRequestValue = "stream.output_request_value"
    case streamTooManyBuckets = "stream.too_many_buckets"
    case streamDangerousParameter = "stream.dangerous_parameter"
    case filterMixedDependencies = "filter.mixed_dependencies"
    case filterUnrelated = "filter.unrelated"
    case filterTooComplex = "filter.too_complex"
    case functionUnknown = "tvf.unknown"
    case functionInputs = "tvf.inputs"
    case functionPartitioned = "tvf.partitioned"
    case functionUnknownColumn = "tvf.unknown_column"
    case fromUnused = "from.unused"
    case columnUnnamed = "column.unnamed"
    case columnStarAfterAlias = "column.star_after_alias"
    case tableAliasRenames = "table.alias_renames"
    case metadataSuffixWithoutWildcard = "metadata.suffix_without_wildcard"
    case schemaTableMissing = "schema.table_missing"
    case schemaColumnMissing = "schema.column_missing"
    case lookupUnbounded = "lookup.unbounded"

    /// Ours: a comparison that its types or its constants decide.
    case filterNever = "filter.never"
    case filterAlways = "filter.always"
    case filterNull = "filter.null"
    case filterBytes = "filter.bytes"
    /// Ours: two columns of one table that are looked for separately.
    case filterPairs = "filter.pairs"
    /// Ours: constants that can never work.
    case sqlConstant = "sql.constant"
    case sqlJSONPath = "sql.json_path"
    case sqlDateModifier = "sql.date_modifier"
    /// Ours: the default subscription never gets a row of the query.
    case streamNoDefault = "stream.no_default"

    case legacyNoParameters = "legacy.no_parameters"
    case legacyParametersNotCovered = "legacy.parameters_not_covered"
    case legacyParametersDiffer = "legacy.parameters_differ"
    case legacyUnsupportedFilter = "legacy.unsupported_filter"
    case legacyAlias = "legacy.alias"
    case legacyAliasRequired = "legacy.alias_required"
    case legacyTwoArrays = "legacy.two_arrays"
    case legacyPriorityTwice = "legacy.priority_twice"
    case legacyNoID = "legacy.no_id"
    case streamNoID = "stream.no_id"
    case legacyTokenClaim = "legacy.token_claim"

    /// How serious findings with this code are.
    var severity: ConfigDiagnostic.Severity {
        switch self {
        case .yamlNullSection, .configStorageUnstable, .configNoEffect, .streamsAlpha, .eventWhereIgnored,
            .eventColumns, .cteUnused,
            .cteShadowsTable, .sqlCaseFolded, .streamDangerousParameter, .functionUnknownColumn, .fromUnused,
            .columnUnnamed, .columnStarAfterAlias, .tableAliasRenames, .metadataSuffixWithoutWildcard,
            .schemaTableMissing, .schemaColumnMissing, .lookupUnbounded,
            .legacyTokenClaim,
            .streamNoID:
            .warning
        case .filterNever, .filterAlways, .filterPairs, .streamNoDefault:
            .warning
        default:
            .error
        }
    }
}
