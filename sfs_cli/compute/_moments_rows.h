/* Sums of one instruction set; included once for each, by _moments.c, which sets

   SET    suffix of the names
   TARGET attribute that allows the instructions
   LANES  doubles in a vector
   ROWS   features that are gone through together, which share the loads of the columns; with WIDE
          columns at a time (WIDE + 1) * ROWS * 8 / LANES sums have to fit into the registers

   Whatever these are, a sum is added up in the same order: sample j to lane j mod 8. */

#define PARTS (8 / LANES)
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define NAMED(name) JOIN(name, SET)

typedef double NAMED(vector) __attribute__((vector_size(8 * LANES), aligned(8), may_alias));
typedef float NAMED(single) __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

/* One pass over ROWS features: their products with `width` columns, and their squares if `first`.
   `width`, `first`, `type` and `scaled` are constants at every call. */
ALWAYS_INLINE TARGET void NAMED(pass)(
    const struct problem *problem, const char *const *rows, const double *less, size_t column,
    int width, int first, enum type type, int scaled, double *squares, double *products)
{
    NAMED(vector) square[ROWS][PARTS], product[ROWS][WIDE][PARTS];
    for (int r = 0; r < ROWS; r++)
        for (int p = 0; p < PARTS; p++) {
            square[r][p] = (NAMED(vector)){0};
            for (int c = 0; c < width; c++)
                product[r][c][p] = (NAMED(vector)){0};
        }
    size_t samples = problem->samples, whole = samples / 8, groups = (samples + 7) / 8;
    for (size_t g = 0; g < groups; g++) {
        const double *columns = problem->columns + (g * problem->width + column) * 8;
        double rest[ROWS][8];
        if (g == whole)
            for (int r = 0; r < ROWS; r++)
                for (size_t l = 0; l < 8; l++)
                    rest[r][l] = 8 * g + l < samples ? value(rows[r], 8 * g + l, type) : less[r];
        for (int p = 0; p < PARTS; p++) {
            NAMED(vector) x[ROWS];
            size_t at = 8 * g + LANES * p;
            for (int r = 0; r < ROWS; r++) {
                if (g == whole)
                    x[r] = *(const NAMED(vector) *)(rest[r] + LANES * p);
                else if (type == FLOAT)
                    x[r] = __builtin_convertvector(
                        *(const NAMED(single) *)((const float *)rows[r] + at), NAMED(vector));
                else
                    x[r] = *(const NAMED(vector) *)((const double *)rows[r] + at);
                x[r] -= less[r];
                if (scaled)
                    x[r] *= *(const NAMED(vector) *)(problem->scale + at);
                if (first)
                    square[r][p] += x[r] * x[r];
            }
            for (int c = 0; c < width; c++) {
                NAMED(vector) v = *(const NAMED(vector) *)(columns + 8 * c + LANES * p);
                for (int r = 0; r < ROWS; r++)
                    product[r][c][p] += x[r] * v;
            }
        }
    }
    for (int r = 0; r < ROWS; r++) {
        if (first)
            squares[r] = lanes_added((const double *)square[r]);
        for (int c = 0; c < width; c++)
            products[r * problem->width + column + c] = lanes_added((const double *)product[r][c]);
    }
}

ALWAYS_INLINE TARGET void NAMED(together)(
    const struct problem *problem, const char *const *rows, const double *less,
    enum type type, int scaled, double *squares, double *products)
{
    size_t column = 0;
    do {
        size_t left = problem->width - column;
        size_t passes = left ? (left + WIDE - 1) / WIDE : 1;
        int width = (int)((left + passes - 1) / passes);
#define OF_WIDTH(w)                                                                              \
    case w:                                                                                      \
        if (column == 0)                                                                         \
            NAMED(pass)(problem, rows, less, column, w, 1, type, scaled, squares, products);     \
        else                                                                                     \
            NAMED(pass)(problem, rows, less, column, w, 0, type, scaled, squares, products);     \
        break;
        switch (width) {
            OF_WIDTH(0) OF_WIDTH(1) OF_WIDTH(2) OF_WIDTH(3) OF_WIDTH(4) OF_WIDTH(5)
        }
#undef OF_WIDTH
        column += width;
    } while (column < problem->width);
}

static TARGET void NAMED(sums)(
    const struct problem *problem, const char *values, size_t count, size_t apart,
    double *squares, double *products)
{
    size_t stride = problem->samples * (problem->type == FLOAT ? sizeof(float) : sizeof(double));
    for (size_t i = 0; i < count; i += ROWS) {
        const char *rows[ROWS];
        double less[ROWS], square[ROWS] = {0};
        double product[ROWS * MOST_COLUMNS];
        for (size_t r = 0; r < ROWS; r++) {
            rows[r] = values + (i + r < count ? i + r : i) * stride;
            less[r] = problem->reference < 0
                          ? 0 : value(rows[r], (size_t)problem->reference, problem->type);
        }
        if (problem->type == FLOAT && problem->scale)
            NAMED(together)(problem, rows, less, FLOAT, 1, square, product);
        else if (problem->type == FLOAT)
            NAMED(together)(problem, rows, less, FLOAT, 0, square, product);
        else if (problem->scale)
            NAMED(together)(problem, rows, less, DOUBLE, 1, square, product);
        else
            NAMED(together)(problem, rows, less, DOUBLE, 0, square, product);
        size_t made = count - i < ROWS ? count - i : ROWS;
        memcpy(squares + i, square, made * sizeof(double));
        for (size_t c = 0; c < problem->width; c++)
            for (size_t r = 0; r < made; r++)
                products[c * apart + i + r] = product[r * problem->width + c];
    }
}

#undef PARTS
#undef JOIN
#undef JOIN_
#undef NAMED
