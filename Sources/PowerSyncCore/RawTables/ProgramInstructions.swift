/// The instructions of SQLite's programs of which is known what they do, for ``WrittenTables``.
///
/// These are the names in SQLite 3.40.1 and 3.53.4. Other versions may have others; a statement with one of them counts as
/// writing to any table, until somebody has looked at what it does and listed it here.
enum ProgramInstructions {
    /// Those that make no change outside of temporary storage, except through a cursor of `OpenWrite`.
    ///
    /// Not listed are those that change the schema or the file as a whole, run other SQL, or end transactions.
    static let harmless = Set(
        """
        Abortable Add AddImm Affinity AggFinal AggInverse AggStep AggStep1 AggValue And BeginSubrtn BitAnd
        BitNot BitOr Blob Cast Close ClrSubtype CollSeq Column ColumnsUsed Compare Concat Copy Count CursorHint
        CursorLock CursorUnlock DecrJumpZero DeferredSeek Delete Divide ElseEq ElseNotEq EndCoroutine Eq Expire
        Explain Filter FilterAdd FinishSeek FkCheck FkCounter FkIfZero Found Function Ge GetSubtype Gosub Goto
        Gt Halt HaltIfNull IFindKey IdxDelete IdxGE IdxGT IdxInsert IdxLE IdxLT IdxRowid If IfEmpty IfNoHope
        IfNot IfNotOpen IfNotZero IfNullRow IfPos IfSizeBetween IfSmaller Init InitCoroutine Insert Int64
        IntCopy Integer IntegrityCk IsNull IsTrue IsType Jump Last Le Lt MakeRecord MemMax Move Multiply
        MustBeInt Ne NewRowid Next NoConflict Noop Not NotExists NotFound NotNull Null NullRow Offset
        OffsetLimit Once OpenAutoindex OpenDup OpenEphemeral OpenPseudo OpenRead Or Pagecount Param Permutation
        Prev Program PureFunc ReadCookie Real RealAffinity ReleaseReg Remainder ReopenIdx ResetCount ResetSorter
        ResultRow Return Rewind RowCell RowData RowSetAdd RowSetRead RowSetTest Rowid SCopy SeekEnd SeekGE
        SeekGT SeekHit SeekLE SeekLT SeekRowid SeekScan Sequence SequenceTest SetSubtype ShiftLeft ShiftRight
        SoftNull Sort SorterCompare SorterData SorterInsert SorterNext SorterOpen SorterSort String String8
        Subtract TableLock Trace Transaction TypeCheck VBegin VCheck VColumn VFilter VInitIn VNext VOpen
        Variable Yield ZeroOrNull
        """.split(whereSeparator: \.isWhitespace).map(String.init)
    )
}
