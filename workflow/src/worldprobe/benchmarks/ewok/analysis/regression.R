# The mixed logistic regression of the paper (Appendix A.5), fitted by lme4; called by mixed_model.py.
#
# glmer's second stage searches theta and all coefficients together with a general optimiser that knows nothing about their scales:
# on 175 thousand rows (20 models, 18 coefficients) it needs 1,667 evaluations and nine minutes of a core. Here the first stage
# (nAGQ = 0) also gives the coefficients' approximate covariance; the second stage searches the same Laplace deviance in coordinates
# whitened by it, where one unit is one standard error in every direction: 418 evaluations, half of them for the standard
# errors, two minutes, and the same coefficients to 1e-4.

suppressPackageStartupMessages(library(lme4))

worldprobe_fit <- function(y, x, model, item, method) {
  messages <- character()
  note <- function(condition) messages <<- c(messages, conditionMessage(condition))
  run <- function() {
    rows <- data.frame(y = y, x, item = factor(item))
    random <- "(1 | item)"
    if (length(unique(model)) > 1) {
      rows$model <- factor(model)
      random <- paste(random, "+ (1 | model)")
    }
    formula <- as.formula(paste("y ~ 0 +", paste(colnames(x), collapse = " + "), "+", random))
    if (method == "plain") fit_plain(formula, rows) else fit_whitened(formula, rows)
  }
  fitted <- withCallingHandlers(
    tryCatch(run(), error = function(e) failed(conditionMessage(e), ncol(x))),
    warning = function(w) { note(w); invokeRestart("muffleWarning") },
    message = function(m) { note(m); invokeRestart("muffleMessage") }
  )
  fitted$messages <- unique(c(messages, fitted$messages))
  fitted
}

failed <- function(message, n_terms) {
  list(
    estimate = rep(NA_real_, n_terms), std_error = rep(NA_real_, n_terms), theta = numeric(), groups = character(),
    deviance = NA_real_, evaluations = 0, gradient = NA_real_, messages = paste("the fit failed to converge, R stopped:", message)
  )
}

fit_plain <- function(formula, rows) {
  control <- lme4::glmerControl(optimizer = "bobyqa", optCtrl = list(maxfun = 2e5))
  fitted <- lme4::glmer(formula, data = rows, family = binomial, control = control)
  summarized <- coef(summary(fitted))
  list(
    estimate = summarized[, "Estimate"], std_error = summarized[, "Std. Error"],
    theta = fitted@theta, groups = names(lme4::getME(fitted, "cnms")),
    deviance = -2 * as.numeric(logLik(fitted)), evaluations = fitted@optinfo$feval, gradient = NA_real_,
    messages = as.character(unlist(fitted@optinfo$conv$lme4$messages))
  )
}

fit_whitened <- function(formula, rows) {
  parsed <- lme4::glFormula(formula, data = rows, family = binomial)
  deviance <- do.call(lme4::mkGlmerDevfun, parsed)
  first <- lme4::optimizeGlmer(deviance, optimizer = "bobyqa")
  inner <- environment(deviance)
  theta <- first$par
  beta <- inner$pp$beta(1)
  n_theta <- length(theta)
  spread <- t(chol(chol2inv(inner$pp$RX())))
  deviance <- lme4::updateGlmerDevfun(deviance, parsed$reTrms)

  evaluations <- 0
  theta_unit <- pmax(0.05 * theta, 0.01)
  place <- function(steps) {
    c(pmax(theta + steps[seq_len(n_theta)] * theta_unit, 0), beta + as.vector(spread %*% steps[-seq_len(n_theta)]))
  }
  objective <- function(steps) {
    evaluations <<- evaluations + 1
    deviance(place(steps))
  }
  lower <- c(-theta / theta_unit, rep(-Inf, length(beta)))
  second <- minqa::bobyqa(
    rep(0, length(lower)), objective, lower = lower, control = list(rhobeg = 0.5, rhoend = 1e-2, maxfun = 10000)
  )
  messages <- if (second$ierr != 0) second$msg else character()

  # Standard errors come from the curvature at the optimum, as summary() takes them; the same curvature gives Newton steps that end
  # the search. A variance at its bound of zero stays there.
  free <- c(place(second$par)[seq_len(n_theta)] > 1e-4, rep(TRUE, length(beta)))
  whole <- function(steps) replace(second$par, free, steps)
  along <- function(steps) objective(whole(steps))
  at <- second$par[free]
  curvature <- list(gradient = slope(along, at), hessian = bend(along, at))
  lowest <- second$fval
  for (round in 1:3) {
    step <- tryCatch(-solve(curvature$hessian, curvature$gradient), error = function(e) NULL)
    if (is.null(step) || max(abs(curvature$gradient)) < 1e-3) break
    reached <- along(at + step)
    if (!is.finite(reached) || reached > lowest) break
    at <- at + step
    lowest <- reached
    curvature$gradient <- slope(along, at)
  }
  best <- place(whole(at))
  jacobian <- rbind(
    cbind(diag(theta_unit, n_theta), matrix(0, n_theta, length(beta))),
    cbind(matrix(0, length(beta), n_theta), spread)
  )[free, free, drop = FALSE]
  inverse <- solve(jacobian)
  gradient <- as.vector(t(inverse) %*% curvature$gradient)
  hessian <- t(inverse) %*% curvature$hessian %*% inverse
  checked <- lme4::checkConv(
    list(gradient = gradient, Hessian = hessian), best[free], lme4::glmerControl()$checkConv,
    lbound = c(rep(0, sum(free[seq_len(n_theta)])), rep(-Inf, length(beta)))
  )
  messages <- c(messages, as.character(unlist(checked$messages)))
  if (any(best[seq_len(n_theta)] <= 1e-4)) messages <- c(messages, "boundary (singular) fit: see help('isSingular')")
  covariance <- tryCatch(2 * solve(hessian), error = function(e) NULL)
  last <- seq(to = sum(free), length.out = length(beta))
  std_error <- if (is.null(covariance)) rep(NA_real_, length(beta)) else sqrt(pmax(diag(covariance)[last], 0))
  if (any(!is.finite(std_error)) || any(std_error == 0)) {
    std_error <- rep(NA_real_, length(beta))
    messages <- c(messages, "failed to converge: the curvature at the optimum is not that of a minimum")
  }
  list(
    estimate = best[-seq_len(n_theta)], std_error = std_error, theta = best[seq_len(n_theta)],
    groups = names(parsed$reTrms$cnms), deviance = lowest, evaluations = evaluations,
    gradient = max(abs(curvature$gradient)) / 2, messages = messages
  )
}

# Gradient and Hessian by differences of a tenth of a standard error.
shifted <- function(at, i, by) {
  at[i] <- at[i] + by
  at
}

slope <- function(f, at, h = 0.1) {
  vapply(seq_along(at), function(i) (f(shifted(at, i, h)) - f(shifted(at, i, -h))) / (2 * h), 0)
}

bend <- function(f, at, h = 0.1) {
  n <- length(at)
  centre <- f(at)
  up <- vapply(seq_len(n), function(i) f(shifted(at, i, h)), 0)
  hessian <- diag(0, n)
  for (i in seq_len(n)) {
    for (j in seq_len(i)) {
      both <- if (i == j) f(shifted(at, i, -h)) else f(shifted(shifted(at, i, h), j, h))
      hessian[i, j] <- hessian[j, i] <- if (i == j) (up[i] - 2 * centre + both) / h^2 else (both - up[i] - up[j] + centre) / h^2
    }
  }
  hessian
}
